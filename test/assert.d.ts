// Types of the assertions used here, as the standard library documents them.

/** Fails unless the expression is truthy; narrows its type. */
export declare function assert(expression: unknown, message?: string): asserts expression;

/** Fails unless both values are deeply equal. */
export declare function assertEquals<T>(actual: T, expected: T, message?: string): void;

/** Fails if both values are deeply equal. */
export declare function assertNotEquals<T>(actual: T, expected: T, message?: string): void;

/** Fails unless both values are the same object or primitive. */
export declare function assertStrictEquals<T>(actual: unknown, expected: T, message?: string): asserts actual is T;

/** Fails unless the numbers differ by at most `tolerance` (default: 1e-7 of the expected number). */
export declare function assertAlmostEquals(
  actual: number,
  expected: number,
  tolerance?: number,
  message?: string,
): void;

/** Fails if the value is `null` or `undefined`; narrows its type. */
export declare function assertExists<T>(actual: T, message?: string): asserts actual is NonNullable<T>;

/** Fails unless `actual` contains `expected`. */
export declare function assertStringIncludes(actual: string, expected: string, message?: string): void;

/** Fails unless `actual` matches. */
export declare function assertMatch(actual: string, expected: RegExp, message?: string): void;

/** Fails unless `actual` has the properties of `expected`, deeply. */
export declare function assertObjectMatch(
  actual: Record<PropertyKey, unknown>,
  expected: Record<PropertyKey, unknown>,
  message?: string,
): void;

/** Fails unless the value is an instance of the class; narrows its type. */
export declare function assertInstanceOf<T extends abstract new (...args: never[]) => unknown>(
  actual: unknown,
  type: T,
  message?: string,
): asserts actual is InstanceType<T>;

/** Fails unless the function throws, and returns what it threw. */
export declare function assertThrows(fn: () => unknown, message?: string): unknown;
/** Fails unless the function throws this class with a message that includes the text. */
export declare function assertThrows<E extends Error>(
  fn: () => unknown,
  type: abstract new (...args: never[]) => E,
  messageIncludes?: string,
  message?: string,
): E;

/** Fails unless the promise rejects, and returns the reason. */
export declare function assertRejects(fn: () => PromiseLike<unknown>, message?: string): Promise<unknown>;
/** Fails unless the promise rejects with this class and a message that includes the text. */
export declare function assertRejects<E extends Error>(
  fn: () => PromiseLike<unknown>,
  type: abstract new (...args: never[]) => E,
  messageIncludes?: string,
  message?: string,
): Promise<E>;

/** Fails. */
export declare function fail(message?: string): never;
