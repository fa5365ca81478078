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
  const orders = new MemberOrders();
  let waiting = '';
  const write = (text: string): void => {
    waiting += text;
    if (waiting.length < CHUNK) return;
    hash.update(waiting);
    waiting = '';
  };
  const walk = async (part: unknown): Promise<void> => {
    if (!isDeep(part)) return write(textOf(part, orders));
    if (Array.isArray(part)) {
      write('[');
      for (const [at, item] of part.entries()) {
        if (at > 0) write(',');
        if (isDeep(item)) await walk(item);
        else write(textOf(item, orders));
        if (at % ITEMS_IN_A_TURN === ITEMS_IN_A_TURN - 1) await turn();
      }
      return write(']');
    }
    let separator = '';
    write('{');
    for (const { name, label } of [...orders.of(part)]) {
      const member = (part as Readonly<Record<string, unknown>>)[name];
      if (member === undefined) continue;
      write(`${separator}${label}`);
      separator = ',';
      await walk(member);
    }
    write('}');
  };
  await walk(value);
  return hash.update(waiting).digest('hex');
}

/** Characters that are hashed at once. */
const CHUNK = 64 * 1024;
const ITEMS_IN_A_TURN = 1_000;

/** It holds objects or lists. */
const isDeep = (value: unknown): value is object =>
  typeof value === 'object' &&
  value !== null &&
  Object.values(value).some((member) => typeof member === 'object' && member !== null);
