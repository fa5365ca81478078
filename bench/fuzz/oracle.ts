import type { LedgerValues } from './ledger-values.js';
import type { OpenApiValidator } from '../../test/harness/openapi-validator.js';
import { textsIn, type FuzzRequest } from './requests.js';
import { isDecisionOnState } from './state-decisions.js';
import type { FuzzAnswer } from './sender.js';

/** What no answer may be, whatever the request. */

/** What the edge refuses before it knows the route: such paths are in no description. */
const OF_EVERY_PATH: ReadonlySet<number> = new Set([400, 404, 405, 413, 414, 431]);
/** Of every described operation, without being named there. */
const OF_EVERY_OPERATION: ReadonlySet<number> = new Set([414, 431]);

export class Oracle {
  /** What operators wrote: a request that names no mode is about live, with any ledger's values. */
  private readonly ofOperators = new Set<string>();

  constructor(
    private readonly validator: OpenApiValidator,
    private readonly values: readonly LedgerValues[],
    /** Whether a dependency may be away. */
    private readonly hasFaults: boolean,
  ) {}

  /** One line for each violation; empty: none. */
  violations(request: FuzzRequest, answer: FuzzAnswer): readonly string[] {
    if (
      request.target.startsWith('/operations/') &&
      request.method !== 'GET' &&
      answer.status < 300
    )
      for (const text of request.texts) this.ofOperators.add(text);
    return [
      ...this.failures(answer),
      ...disagreements(request, answer),
      ...this.misfits(request, answer),
      ...this.leaks(request, answer),
    ];
  }

  /** Two answers to one request with one idempotency key. */
  differences({ headers }: FuzzRequest, first: FuzzAnswer, second: FuzzAnswer): readonly string[] {
    const isKept = headers['idempotency-key'] !== undefined && first.status < 500;
    // The limits are checked before the key: either of the two may be over one.
    const isLimited = first.status === 429 || second.status === 429;
    if (!isKept || isLimited || (this.hasFaults && second.status === 503)) return [];
    return first.status === second.status && first.text === second.text
      ? []
      : [
          `repeated with its key: ${second.status} ${second.text}, but first ${first.status} ${first.text}`,
        ];
  }

  private failures({ status }: FuzzAnswer): readonly string[] {
    return status < 500 || (status === 503 && this.hasFaults) ? [] : [`status ${status}`];
  }

  private misfits({ method, target }: FuzzRequest, answer: FuzzAnswer): readonly string[] {
    const { status, headers, text, body } = answer;
    const isJson = JSON_TYPES.has(headers['content-type'] ?? '');
    const template = this.validator.templateOf(method, target);
    const found: string[] = [];
    if (isPage(template ?? target, headers['content-type']) && text !== '') return found;
    if (isJson !== (text !== '' && template !== '/metrics') && status !== 204)
      found.push(`a body of the type ${headers['content-type'] ?? 'none'}`);
    if (isJson && body === undefined) found.push('the body is no JSON');
    if (status >= 400) {
      found.push(...this.validator.problemsOfError(body));
      if (statusIn(body) !== status) found.push('statusCode is not the status');
    }
    const isOfEdge = (template === undefined ? OF_EVERY_PATH : OF_EVERY_OPERATION).has(status);
    if (!isOfEdge) found.push(...this.validator.problems({ method, path: target, status, body }));
    return found;
  }

  /** What belongs to a ledger that the caller has no part in, unless the request says it. */
  private leaks(request: FuzzRequest, { text, headers, body }: FuzzAnswer): readonly string[] {
    const { shows, texts, target } = request;
    const said = [...texts, target.split('?', 1)[0] ?? '']
      .flatMap(repeatedAs)
      .sort((one, other) => other.length - one.length);
    const hidden = this.values.filter(({ ledger }) => !shows.includes(ledger));
    const secrets = this.values
      .flatMap(({ ledger }) => [ledger.apiKey, ledger.signingSecret])
      .filter((secret) => text.includes(secret));
    const answered = [...(body === undefined ? [text] : textsIn(body)), headers.location ?? ''];
    const leaked = answered.filter(
      (value) =>
        !this.ofOperators.has(value) &&
        hidden.some(
          ({ ledger: { mark }, shown }) =>
            (holds(value, mark) && holds(without(value, said), mark)) ||
            (shown.has(value) && !texts.has(value)),
        ),
    );
    return [
      ...secrets.map(() => 'the answer holds a key'),
      ...leaked.map((value) => `the answer shows another ledger's ${JSON.stringify(value)}`),
    ];
  }
}

/** Between the description and the service, over one request. */
function disagreements({ faults }: FuzzRequest, { status, body, text }: FuzzAnswer): string[] {
  if (faults === undefined || status >= 500) return [];
  if (status < 400)
    return faults.length === 0 ? [] : [`forbidden, but accepted: ${faults.join('; ')}`];
  const isExplained = faults.length > 0 || isDecisionOnState(status, body);
  return isExplained ? [] : [`allowed, but refused: ${text.slice(0, 500)}`];
}

const JSON_TYPES: ReadonlySet<string> = new Set([
  'application/json; charset=utf-8',
  'application/schema+json; charset=utf-8',
]);

/** Of an export. */
const FILES: ReadonlySet<string> = new Set(['text/csv; charset=utf-8', 'application/zip']);

/** Behind a share link, of an unsubscription, of an error there; a mail that is previewed. */
const PAGES = /^\/r\/|^\/mail\/unsubscribe\/|\/theme\/email\/[^/]+\/preview$/;

const isPage = (path: string, type = ''): boolean =>
  path.endsWith('/download')
    ? FILES.has(type)
    : PAGES.test(path) && type === 'text/html; charset=utf-8';

/** Codes are made of names, in capital letters. */
const holds = (text: string, mark: string): boolean => text.toLowerCase().includes(mark);

/** As a message repeats a text of the request: whole or cut, as it is or quoted. */
const repeatedAs = (text: string): readonly string[] =>
  [text, text.slice(0, 80)].flatMap((part) => [part, JSON.stringify(part).slice(1, -1)]);

const without = (value: string, texts: readonly string[]): string =>
  texts.reduce((rest, text) => (text.length > 3 ? rest.replaceAll(text, '') : rest), value);

const statusIn = (body: unknown): unknown =>
  typeof body === 'object' && body !== null ? Reflect.get(body, 'statusCode') : undefined;
