/** A closed set: src/http/writing/refusal-answers.ts maps each code to its answer. */
export type Refusal =
  | 'ACCOUNT_NOT_FOUND'
  | 'USER_NOT_FOUND'
  | 'REFERRAL_CODE_NOT_FOUND'
  | 'REWARD_NOT_FOUND'
  | 'SELF_REFERRAL'
  | 'ALREADY_REFERRED'
  | 'NOT_ATTRIBUTABLE'
  | 'NOT_REFERABLE'
  | 'REFERRAL_CODE_TAKEN'
  | 'PROGRAM_UNKNOWN'
  | 'CODE_PROGRAM_CONFLICT'
  | 'TOO_MANY_USERS'
  | 'USER_EXISTS'
  /** A user token does not allow a requested field. */
  | 'FIELD_NOT_GRANTED'
  | 'DO_NOT_TRACK'
  | 'PAYMENT_PROVIDER_ID_SET'
  | 'PAYMENT_PROVIDER_ID_USED'
  | 'USER_ALREADY_BLOCKED'
  | 'USER_NOT_BLOCKED'
  | 'REDEMPTION_NOT_POSSIBLE'
  | 'REWARD_NOT_CANCELLABLE'
  | 'REWARD_DATES_INVALID'
  | 'AMOUNT_TOO_LARGE'
  /** The account's credit in the unit has another currency. */
  | 'CURRENCY_DIFFERS'
  | 'MODERATION_NOT_POSSIBLE'
  | 'TENANT_EXISTS'
  | 'TENANT_NOT_FOUND'
  /** A concurrent change invalidated the command's premises. */
  | 'CHANGED_MEANWHILE'
  | 'TEST_CLOCK_NOT_FORWARD'
  | 'SUBSCRIPTION_NOT_FOUND'
  | 'TOO_MANY_ENDPOINTS'
  | 'RESERVED_BY_ANOTHER'
  | 'EVENTS_ALREADY_RECEIVED'
  /** The ledger has an effect of another request with this key. */
  | 'IDEMPOTENCY_KEY_REUSED'
  /** The command's id belongs to another reward: ids are never granted twice. */
  | 'REWARD_EXISTS'
  | 'PERIOD_NOT_OVER'
  | 'PERIOD_ALREADY_CLOSED'
  | 'PERIOD_NOT_CLOSED'
  | 'EXPORT_NOT_FOUND'
  /** It is completed, aborted or expired. */
  | 'EXPORT_IS_OVER'
  | 'TOO_MANY_EXPORTS'
  | 'TOO_MANY_PROPOSALS'
  | 'PROPOSAL_ENDED'
  /** The locale has no values of its own. */
  | 'THEME_NOT_FOUND'
  | 'THEME_VERSION_NOT_FOUND'
  | 'THEME_INVALID'
  | 'THEME_TOO_LARGE'
  /** The day's limit of bytes is reached; the change succeeds later. */
  | 'THEME_CHANGED_TOO_MUCH'
  /** A row of an import breaks a rule, or was imported with other values. */
  | 'ROW_INVALID'
  | 'ROW_DIFFERS'
  /** Texts and lists, each within its limit, exceed the limit of one append together. */
  | 'RECORD_TOO_LARGE';

/** A refused command changes nothing. `details`: the reasons for people, one line each. */
export interface Refused {
  readonly refused: Refusal;
  readonly details?: readonly string[];
}

/** The reasons for people, one line each. */
export const reasonsOf = ({ refused: code, details = [code] }: Refused): readonly string[] =>
  details;

export const refused = (code: Refusal, ...details: string[]): Refused =>
  details.length > 0 ? { refused: code, details } : { refused: code };
