/**
 * Emits `answers.schema.json` from the types in `answers.ts`: `deno task schema`. Reads types with the TypeScript compiler, so
 * that nothing is written twice; no verb loads it.
 *
 * @module
 */

import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { ANSWERS_FILE, type AnswerSchemas, type JsonSchema } from "./answers_schema.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
/** Folder of the npm packages: this compiler lies in `typescript/<version>/lib` of it. */
const PACKAGES = join(dirname(ts.sys.getExecutingFilePath()), "../../..");

/** Where an import leads: a file of ours, or the types of a package by its full name. Others are not of answers. */
function resolved(specifier: string, from: string): string | undefined {
  if (specifier.startsWith(".")) return join(dirname(from), specifier);
  const [, name, version] = /^npm:((?:@[^/]+\/)?[^@]+)@(.+)$/.exec(specifier) ?? [];
  if (name === undefined || version === undefined) return undefined;
  const folder = join(PACKAGES, name, version);
  const { types } = JSON.parse(ts.sys.readFile(join(folder, "package.json")) ?? "{}") as { readonly types?: string };
  return types === undefined ? undefined : join(folder, types);
}

function programOf(file: string): ts.Program {
  const options: ts.CompilerOptions = {
    target: ts.ScriptTarget.ESNext,
    module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
    lib: ["lib.esnext.d.ts"],
    types: [],
    strict: true,
    exactOptionalPropertyTypes: true,
    allowImportingTsExtensions: true,
    noEmit: true,
    skipLibCheck: true,
  };
  const host = ts.createCompilerHost(options);
  host.resolveModuleNameLiterals = (names, from) =>
    names.map(({ text }) => {
      const path = resolved(text, from);
      if (path === undefined) return { resolvedModule: undefined };
      const extension = /\.d\.[mc]?ts$/.exec(path)?.[0] ?? ".ts";
      return {
        resolvedModule: { resolvedFileName: path, extension, isExternalLibraryImport: text.startsWith("npm:") },
      };
    });
  return ts.createProgram([file], options, host);
}

/** Makes schemas of types; those with a name become definitions. */
class Emitter {
  readonly definitions: Record<string, JsonSchema> = {};
  readonly #names = new Map<ts.Symbol | ts.Type, string>();
  readonly #checker: ts.TypeChecker;

  constructor(checker: ts.TypeChecker) {
    this.#checker = checker;
  }

  /** The schema of a type; undefined for what JSON leaves out: undefined and functions. */
  of(type: ts.Type): JsonSchema | undefined {
    if (type.isUnion()) {
      const name = this.#named(type);
      return name ?? this.#union(type);
    }
    const { flags } = type;
    if (flags & (ts.TypeFlags.Undefined | ts.TypeFlags.Void | ts.TypeFlags.Never | ts.TypeFlags.ESSymbolLike)) {
      return undefined;
    }
    if (flags & (ts.TypeFlags.Any | ts.TypeFlags.Unknown)) return {};
    if (flags & ts.TypeFlags.Null) return { type: "null" };
    if (type.isStringLiteral() || type.isNumberLiteral()) return { const: type.value };
    if (flags & ts.TypeFlags.BooleanLiteral) return { const: this.#checker.typeToString(type) === "true" };
    if (flags & ts.TypeFlags.StringLike) return { type: "string" };
    if (flags & ts.TypeFlags.NumberLike) return { type: "number" };
    if (flags & ts.TypeFlags.Boolean) return { type: "boolean" };
    if (flags & (ts.TypeFlags.Object | ts.TypeFlags.Intersection)) return this.#object(type);
    throw new Error(`Cannot write a schema of ${this.#checker.typeToString(type)}: JSON has no such value`);
  }

  #union(type: ts.UnionType): JsonSchema | undefined {
    if (type.flags & ts.TypeFlags.Boolean) return { type: "boolean" };
    const schemas = type.types.map((one) => this.of(one)).filter((one) => one !== undefined);
    const literals = schemas.filter((one) => "const" in one);
    const booleans = literals.filter((one) => typeof one["const"] === "boolean");
    const words = literals.filter((one) => typeof one["const"] !== "boolean");
    const found = [
      ...schemas.filter((one) => !("const" in one)),
      ...(booleans.length === 2 ? [{ type: "boolean" }] : booleans),
      ...(words.length > 1 ? [{ enum: words.map((one) => one["const"]) }] : words),
    ];
    return found.length > 1 ? { anyOf: found } : found[0];
  }

  #object(type: ts.Type): JsonSchema | undefined {
    if (type.getCallSignatures().length > 0) return undefined;
    if (this.#checker.isTupleType(type)) return this.#tuple(type as ts.TupleTypeReference);
    if (this.#checker.isArrayType(type)) {
      const [item] = this.#checker.getTypeArguments(type as ts.TypeReference);
      const items = item === undefined ? undefined : this.of(item);
      return { type: "array", ...(items === undefined ? {} : { items }) };
    }
    return this.#named(type) ?? this.#fields(type);
  }

  #tuple(type: ts.TupleTypeReference): JsonSchema {
    const items = this.#checker.getTypeArguments(type).map((one) => this.of(one) ?? {});
    return { type: "array", items, minItems: items.length, maxItems: items.length };
  }

  /** A reference to a definition, which is made when it is first met; undefined for a type without a name of its own. */
  #named(type: ts.Type): JsonSchema | undefined {
    const { aliasSymbol, aliasTypeArguments = [] } = type;
    const written = type.symbol?.declarations?.some(ts.isInterfaceDeclaration) === true ? type.symbol : undefined;
    const symbol = aliasSymbol !== undefined && aliasTypeArguments.length === 0 ? aliasSymbol : written;
    const declared = symbol?.declarations?.[0]?.getSourceFile().fileName ?? "";
    if (symbol === undefined) return undefined;
    if (!declared.startsWith(ROOT)) {
      throw new Error(`Cannot write a schema of ${this.#checker.typeToString(type)}: it is not one of ours`);
    }
    // An interface of a type parameter is a type for each of its arguments.
    const key = symbol === aliasSymbol ? symbol : type;
    let name = this.#names.get(key);
    if (name === undefined) {
      name = symbol.name;
      for (let i = 2; Object.hasOwn(this.definitions, name); i++) name = `${symbol.name}${i}`;
      this.#names.set(key, name);
      this.definitions[name] = {};
      const schema = type.isUnion() ? this.#union(type) : this.#fields(type);
      this.definitions[name] = { ...this.#described(symbol), ...schema };
    }
    return { $ref: `#/definitions/${name}` };
  }

  #fields(type: ts.Type): JsonSchema {
    const properties: Record<string, JsonSchema> = {}, required: string[] = [];
    for (const field of this.#checker.getPropertiesOfType(type)) {
      const of = this.#checker.getTypeOfSymbol(field);
      const schema = this.of(of);
      if (schema === undefined) continue;
      properties[field.name] = { ...this.#described(field), ...schema };
      const mayLack = of.isUnion() && of.types.some(({ flags }) => flags & ts.TypeFlags.Undefined);
      if (!mayLack && (field.flags & ts.SymbolFlags.Optional) === 0) required.push(field.name);
    }
    const others = this.#checker.getIndexTypeOfType(type, ts.IndexKind.String);
    const additional = others === undefined ? undefined : this.of(others);
    return {
      type: "object",
      properties,
      ...(required.length === 0 ? {} : { required }),
      ...(additional === undefined ? {} : { additionalProperties: additional }),
    };
  }

  #described(symbol: ts.Symbol): JsonSchema {
    const text = ts.displayPartsToString(symbol.getDocumentationComment(this.#checker))
      .replaceAll(/\{@link(?:code)? ([^}]+)\}/g, "$1").replaceAll(/\s+/g, " ").trim();
    return text === "" ? {} : { description: text };
  }
}

/** The schemas of all answers. */
export function answerSchemas(): AnswerSchemas {
  const file = fileURLToPath(new URL("answers.ts", import.meta.url));
  const program = programOf(file), checker = program.getTypeChecker();
  const source = program.getSourceFile(file);
  const answers = source?.statements.filter(ts.isInterfaceDeclaration).find(({ name }) => name.text === "Answers");
  if (answers === undefined) throw new Error(`Cannot find the answers in ${file}`);
  const emitter = new Emitter(checker);
  const verbs = Object.fromEntries(
    checker.getPropertiesOfType(checker.getTypeAtLocation(answers)).map((verb) =>
      [verb.name, emitter.of(checker.getTypeOfSymbol(verb)) ?? {}] as const
    ),
  );
  return { verbs, definitions: emitter.definitions };
}

/** The schemas as text, a line each. */
export function answerSchemasText({ verbs, definitions }: AnswerSchemas): string {
  const lines = (of: Readonly<Record<string, JsonSchema>>) =>
    Object.entries(of).map(([name, schema]) => `${JSON.stringify(name)}: ${JSON.stringify(schema)}`).join(",\n");
  return `{"verbs": {\n${lines(verbs)}\n}, "definitions": {\n${lines(definitions)}\n}}\n`;
}

if (import.meta.main) await Deno.writeTextFile(ANSWERS_FILE, answerSchemasText(answerSchemas()));
