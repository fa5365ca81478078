/**
 * The `code` of an error of Node or Postgres (`ENOENT`, `57P01`), undefined when it has none. Looks
 * at the shape instead of the class: errors of Node's own modules are of another realm's `Error`
 * inside jest and inside `vm`.
 */
export function errorCode(error: unknown): string | undefined {
  return typeof error === 'object' &&
    error !== null &&
    'code' in error &&
    typeof error.code === 'string'
    ? error.code
    : undefined;
}

export function hasCode(error: unknown, ...codes: readonly string[]): boolean {
  const code = errorCode(error);
  return code !== undefined && codes.includes(code);
}

/** The message of whatever was thrown. */
export function errorMessage(error: unknown): string {
  return typeof error === 'object' &&
    error !== null &&
    'message' in error &&
    typeof error.message === 'string'
    ? error.message
    : String(error);
}
