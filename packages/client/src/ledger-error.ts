/** A refusal by the service, or a failure after the last attempt. */
export class LedgerError extends Error {
  override readonly name = 'LedgerError';
  /** Of HTTP; 0 when no answer arrived. */
  readonly status: number;
  /** Why, for programs: `REWARD_NOT_CANCELLABLE`. Null: the answer has no code. */
  readonly apiErrorCode: string | null;
  readonly rsCode: string | null;
  /** Names the request in the log of the service. Null: no answer arrived. */
  readonly requestId: string | null;
  /** One line for each fault of the request; empty when it has none. */
  readonly validationErrors: readonly string[];

  /** @param body of the answer: that of a refusal, or anything. */
  constructor(
    status: number,
    body: unknown,
    { requestId = null, cause }: { readonly requestId?: string | null; readonly cause?: unknown },
  ) {
    const said = (typeof body === 'object' && body !== null ? body : {}) as Record<string, unknown>;
    super(textIn(said['message']) ?? `the service answered ${status}`, { cause });
    this.status = status;
    this.apiErrorCode = textIn(said['apiErrorCode']);
    this.rsCode = textIn(said['rsCode']);
    this.requestId = requestId;
    const errors = said['validationErrors'];
    this.validationErrors = Array.isArray(errors) ? errors.map(String) : [];
  }
}

const textIn = (value: unknown): string | null => (typeof value === 'string' ? value : null);
