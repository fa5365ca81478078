import { createHash, randomUUID } from 'node:crypto';
import { setImmediate as othersFirst } from 'node:timers/promises';
import type { Core } from '../src/core/core.js';
import type { AccountEvent } from '../src/domain/account/account.events.js';
import type { Scope } from '../src/domain/scope.js';
import type { Position } from '../src/event-log/event-log.js';
import { decodeAny } from '../src/projecting/decode-events.js';

/** Rewards as the service would have recorded them, and the file of them, folded from the log. */

const PER_ACCOUNT = 100;
const AT_ONCE = 16;
const PAGE = 1_000;

/** Grants about so many rewards, a hundred an account. @returns how many. */
export async function grantRewards(core: Core, scope: Scope, atLeast: number): Promise<number> {
  const accounts = Math.ceil(atLeast / PER_ACCOUNT);
  for (let first = 0; first < accounts; first += AT_ONCE)
    await Promise.all(
      Array.from({ length: Math.min(AT_ONCE, accounts - first) }, (_, index) =>
        grantInAccount(core, scope, `account-${first + index}`),
      ),
    );
  return accounts * PER_ACCOUNT;
}

async function grantInAccount(
  { names, codec, log }: Core,
  scope: Scope,
  accountId: string,
): Promise<void> {
  const stream = names.accountStream(scope, names.accountRef(scope, accountId));
  const commandId = randomUUID();
  const envelope = {
    ...scope,
    correlationId: commandId,
    causationId: commandId,
    commandId,
    actor: { kind: 'system', id: 'bench' },
    idempotency: null,
  } as const;
  const person = randomUUID();
  const events = Array.from({ length: PER_ACCOUNT }, (_, at) => granted(accountId, person, at));
  const ids = events.map(() => randomUUID());
  const appended = await log.append(stream, 'no-stream', await codec.encode(events, envelope, ids));
  if (appended.kind === 'conflict') throw new Error(`${accountId} exists`);
}

function granted(accountId: string, person: string, at: number): AccountEvent {
  const hash = createHash('sha256').update(`${accountId}.${at}`).digest('hex');
  return {
    type: 'RewardGranted',
    at,
    rewardId: hash.slice(0, 48),
    person,
    owner: { subject: person, value: { accountId, userId: 'u' } },
    source: 'MANUAL',
    value: { type: 'CREDIT', unit: 'CENTS', assignedCredit: 100 + at, currency: null },
    cancellable: true,
    dateScheduledFor: null,
    dateExpires: null,
    referralId: null,
    programId: null,
    texts: { subject: person, value: null },
    programVersion: null,
    rule: null,
    redeemsAutomatically: false,
  };
}

const HEADER =
  'id,type,userId,accountId,unit,amount,rewardSource,dateGiven,dateExpires,dateCancelled';

interface Line {
  readonly id: string;
  readonly given: number;
  readonly cells: string;
  cancelled: number | '';
}

/**
 * The lines of the CSV file of rewards as of a position: credit that was granted and cancelled, and
 * nothing that needs quotes.
 */
export async function rewardLinesAt(
  { log, codec }: Core,
  scope: Scope,
  position: Position,
): Promise<readonly string[]> {
  const decode = decodeAny(codec);
  const lines = new Map<string, Line>();
  for (let after: Position | undefined; ;) {
    const page = await log.readAll(after, PAGE);
    after = page.at(-1)?.position;
    if (after === undefined) break;
    const upTo = page.filter((recorded) => log.compare(recorded.position, position) <= 0);
    for (const decoded of await decode(upTo)) {
      if (!('event' in decoded) || decoded.tenant !== scope.tenant) continue;
      if (decoded.mode === scope.mode) fold(lines, decoded.event);
    }
    if (upTo.length < page.length) break;
    await othersFirst();
  }
  const inOrder = [...lines.values()].sort(
    (a, b) => a.given - b.given || (a.id < b.id ? -1 : Number(a.id > b.id)),
  );
  return [HEADER, ...inOrder.map(({ cells, cancelled }) => `${cells},${cancelled}`)];
}

function fold(lines: Map<string, Line>, event: { readonly type: string }): void {
  if (isOf(event, 'RewardGranted')) {
    const { rewardId: id, owner, value, source, at: given } = event;
    if (value.type !== 'CREDIT' || owner.value === null) return;
    const { accountId, userId } = owner.value;
    const { unit, assignedCredit } = value;
    const cells = [id, 'CREDIT', userId, accountId, unit, assignedCredit, source, given, ''];
    lines.set(id, { id, given, cells: cells.join(','), cancelled: '' });
  } else if (isOf(event, 'RewardCancelled')) {
    const line = lines.get(event.rewardId);
    if (line) line.cancelled = event.at;
  }
}

const isOf = <T extends AccountEvent['type']>(
  event: { readonly type: string },
  type: T,
): event is Extract<AccountEvent, { readonly type: T }> => event.type === type;
