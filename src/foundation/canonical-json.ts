import { createHash } from 'node:crypto';

/** JSON with sorted members: equal values have equal texts. Undefined members are omitted. */
export const canonicalJson = (value: unknown): string => textOf(value, new MemberOrders());

function textOf(value: unknown, orders: MemberOrders): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  let text = '';
  if (Array.isArray(value)) {
    for (const item of value as readonly unknown[])
      text += text === '' ? textOf(item, orders) : `,${textOf(item, orders)}`;
    return `[${text}]`;
  }
  const members = value as Readonly<Record<string, unknown>>;
  for (const { name, label } of orders.of(members)) {
    const member = members[name];
    if (member === undefined) continue;
    text += `${text === '' ? '' : ','}${label}${textOf(member, orders)}`;
  }
  return `{${text}}`;
}

interface Member {
  readonly name: string;
  /** As it is written before the value. */
  readonly label: string;
}

/** The members of objects in order. Rows of a list have the same: one order serves them all. */
class MemberOrders {
  private names: readonly string[] = [];
  private order: readonly Member[] = [];

  of(members: object): readonly Member[] {
    const names = Object.keys(members);
    const { length } = this.names;
    if (names.length !== length || names.some((name, at) => name !== this.names[at])) {
      this.names = names;
      this.order = [...names].sort().map((name) => ({ name, label: `${JSON.stringify(name)}:` }));
    }
    return this.order;
  }
}

/** SHA-256 of the canonical JSON, hex. */
export const digestOf = (value: unknown): string =>
  createHash('sha256').update(canonicalJson(value)).digest('hex');

/** As `digestOf`, for long lists: other work has its turn between some of their items. */
export async function digestInTurns(value: unknown, turn: () => Promise<void>): Promise<string> {
  const hash = createHash('sha256');
  let waiting = '';
  for (const part of partsOf(value, new MemberOrders())) {
    if (part === TURN) await turn();
    else waiting += part;
    if (waiting.length < CHUNK) continue;
    hash.update(waiting);
    waiting = '';
  }
  return hash.update(waiting).digest('hex');
}

/** Characters that are hashed at once. */
const CHUNK = 64 * 1024;
const ITEMS_IN_A_TURN = 1_000;
/** A place in a long list where other work may have its turn. */
const TURN = null;

/** The text in parts, of which each holds no objects or lists; of a request that costs too much. */
function* partsOf(value: unknown, orders: MemberOrders): Generator<string | typeof TURN, void> {
  if (!isDeep(value)) {
    yield textOf(value, orders);
    return;
  }
  let before = Array.isArray(value) ? '[' : '{';
  if (Array.isArray(value)) {
    for (const [at, item] of value.entries()) {
      yield before;
      yield* partsOf(item, orders);
      before = ',';
      if (at % ITEMS_IN_A_TURN === ITEMS_IN_A_TURN - 1) yield TURN;
    }
    yield ']';
    return;
  }
  const members = value as Readonly<Record<string, unknown>>;
  for (const { name, label } of orders.of(members)) {
    if (members[name] === undefined) continue;
    yield before + label;
    yield* partsOf(members[name], orders);
    before = ',';
  }
  yield '}';
}

/** It holds objects or lists. */
const isDeep = (value: unknown): value is object =>
  typeof value === 'object' &&
  value !== null &&
  Object.values(value).some((member) => typeof member === 'object' && member !== null);
