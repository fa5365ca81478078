/**
 * One line for the operator about what failed; nothing changed. Exit 1; 2 for a difference, 3 for a
 * broken chain.
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
