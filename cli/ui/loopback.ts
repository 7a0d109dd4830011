/**
 * A small server for this machine alone: what a run shows while it goes on. It listens on 127.0.0.1, answers GET, and only
 * where the browser meant this address: a page elsewhere whose name leads here gets nothing.
 *
 * @module
 */

/** What is answered, by path. */
export type Routes = Readonly<Record<string, (request: Request) => Response | Promise<Response>>>;

/** How long the end waits for readers, ms. */
const PATIENCE_MS = 1000;

/** A server that runs. */
export interface Loopback extends AsyncDisposable {
  /** Where it is: `http://127.0.0.1:8041/`. */
  readonly url: string;
}

/**
 * Serves until it is disposed of.
 *
 * @param port Where; 0: any that is free.
 * @throws {Error} if the port is taken.
 */
export function serveLoopback(port: number, routes: Routes): Loopback {
  const stop = new AbortController();
  let hosts: readonly string[] = [];
  const answer = (request: Request): Response | Promise<Response> => {
    const { pathname } = new URL(request.url);
    if (!hosts.includes(request.headers.get("host") ?? "")) return new Response("another host\n", { status: 421 });
    if (request.method !== "GET") return new Response("GET alone\n", { status: 405 });
    const route = Object.hasOwn(routes, pathname) ? routes[pathname] : undefined;
    return route === undefined ? new Response("not here\n", { status: 404 }) : route(request);
  };
  try {
    const server = Deno.serve({ hostname: "127.0.0.1", port, signal: stop.signal, onListen: () => {} }, answer);
    const { port: taken } = server.addr;
    hosts = [`127.0.0.1:${taken}`, `localhost:${taken}`];
    return {
      url: `http://127.0.0.1:${taken}/`,
      async [Symbol.asyncDispose]() {
        // What was sent is read to its end, unless somebody does not read.
        const timer = setTimeout(() => stop.abort(), PATIENCE_MS);
        await server.shutdown();
        clearTimeout(timer);
      },
    };
  } catch (error) {
    if (!(error instanceof Deno.errors.AddrInUse) && !(error instanceof Deno.errors.PermissionDenied)) throw error;
    throw new Error(`Cannot listen on 127.0.0.1:${port}: ${error.message}; name another port, or none for a free one`, {
      cause: error,
    });
  }
}
