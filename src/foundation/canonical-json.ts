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
  /** The quoted name and colon. */
  readonly label: string;
}

/** Sorted members of objects. Rows of a list have the same members and share one sort. */
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
