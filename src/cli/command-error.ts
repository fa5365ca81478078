/**
 * What went wrong, in one line for the operator; nothing changed. Exit 1; 2 for a difference that
 * was found, 3 for a broken chain.
 */
export class CommandError extends Error {
  override readonly name = 'CommandError';
  constructor(
    message: string,
    readonly exitCode: 1 | 2 | 3 = 1,
  ) {
    super(message);
  }
}
