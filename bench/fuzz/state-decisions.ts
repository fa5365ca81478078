/** Why a request that the description allows may be refused: by the code of the answer. */
const BY_CODE: ReadonlyMap<string, string> = new Map([
  ['SELF_REFERRAL', 'whose code it is'],
  ['ALREADY_REFERRED', 'the account has a referral'],
  ['NOT_ATTRIBUTABLE', 'the account has paid'],
  ['NOT_REFERABLE', 'the user may not be referred'],
  ['REFERRAL_CODE_TAKEN', 'another user has the code'],
  ['INVALD_REWARD_REDEMPTION', 'what is left of the credit, and in which unit'],
  ['REWARD_NOT_CANCELLABLE', 'the reward is redeemed, or may not be cancelled'],
  ['MODERATION_NOT_POSSIBLE', 'the referral is unknown, or its reward is redeemed'],
  ['RATE_LIMITED', 'how many calls were made'],
  ['USER_EXISTS', 'a user has the id'],
  ['DO_NOT_TRACK', 'the user asked not to be tracked'],
  ['TOO_MANY_USERS', 'how many users the account has'],
  ['PAYMENT_PROVIDER_ID_SET', 'the account has another one'],
  ['PAYMENT_PROVIDER_ID_USED', 'another account has it'],
  ['AMOUNT_TOO_LARGE', 'the sum of what the account was given'],
  ['EXPORT_NOT_READY', 'the export is being written'],
  ['EXPORT_EXPIRED', 'the file is gone'],
  ['ENDPOINT_NOT_ALLOWED', 'the addresses of a host, which the operator may allow'],
  ['POSITION_INVALID', 'how far the log is'],
  ['API_REQUEST_NOT_SUPPORTED', 'the program of the tenant'],
  ['USER_ALREADY_BLOCKED', 'the user is blocked'],
  ['USER_NOT_BLOCKED', 'the user is not blocked'],
  ['EVENTS_ALREADY_RECEIVED', 'the events were sent before'],
  ['REQUEST_IN_PROGRESS', 'the first request with the key runs'],
  ['IDEMPOTENCY_KEY_REUSED', 'the key belongs to another request'],
]);

/** The same of the general codes, by what the message says. */
const BY_MESSAGE: readonly (readonly [message: RegExp, why: string])[] = [
  [/\bin the future|has not begun yet|is not over yet/, 'the time of the request'],
  [/period .* is (?:not )?closed/, 'which months are closed'],
  [/belongs to no payment provider|provider is connected/, 'the program of the tenant'],
  [/exceeds the available credit/, 'what is left of the credit'],
  [/there is no (?:account|user|unit)/, 'what the body of an operation names'],
  [/the export is over/, 'the export is written'],
  [/that the test mode may send to|by the mail server/, 'whom mails may reach'],
  [
    /there is no (?:new|earlier) generation|there is nothing of .* to resume/,
    'the generations of the read model',
  ],
  [/there is no such parked stream/, 'the parked streams'],
  [/the tenant has no unit/, 'the units of the tenant'],
  [/the tenant has no program/, 'the programs of the tenant'],
  [/no enabled endpoint of test mode receives/, 'the endpoints of the tenant'],
  [/the proposal has ended/, 'the state of the proposal'],
  [/names a program that the tenant does not have/, 'the programs of the tenant'],
  [/approvedBy must be another operator/, 'who calls'],
  [/Stripe-Signature is missing, wrong/, 'the secret of the provider'],
  [/by (?:another|the) operator (?:than the one )?who made it|approved by another/, 'who calls'],
  [/is no position of this log|beyond the head of the log/, 'how far the log is'],
  [/ever assigned to the account/, 'the sum of what the account was given'],
  [/the provider did not answer/, 'the provider'],
  [/user of the proposal is forgotten|proposal was not approved/, 'the proposal'],
  [/no projection has a new generation/, 'the generations of the read models'],
  [/digest is of /, 'which ledger the digest is of'],
  [/the test clock is at/, 'where the test clock is'],
  [/against .*(?:line|column)/, 'JSON Schema does not read the lines of a file'],
  [/bytes|KiB/, 'nor does it count bytes'],
  [/lies after|must not be before/, 'nor compare times'],
  [/does not parse/, 'nor parse templates'],
  [/must be an absolute http/, 'nor know which hosts the URL standard refuses'],
  [/malformed: \/|^\//, 'the members of a program file are described in a schema of its own'],
  [/must be a URL without a path/, 'nor the parts of a URL'],
  [/must begin with https/, 'nor which hosts are this machine'],
  [/must be the one (?:of|in) the path/, 'OpenAPI does not compare a body with its path'],
  [/exclude each other|cannot be combined with/, 'nor parameters of a query with each other'],
  [/referredAccountId and referredUserId, are required/, 'nor parameters of a query'],
];

/** @param body of a refusal; undefined: it is a page. */
export function isDecisionOnState(status: number, body: unknown): boolean {
  const { apiErrorCode, message, validationErrors } = Object(body) as Record<string, unknown>;
  const said = [message, validationErrors].flat().map(String);
  return (
    (status === 404 && apiErrorCode !== 'NOT_FOUND') ||
    BY_CODE.has(String(apiErrorCode)) ||
    BY_MESSAGE.some(([pattern]) => said.some((line) => pattern.test(line)))
  );
}
