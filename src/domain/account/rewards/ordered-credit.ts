import type { Map } from 'immutable';
import type { PersonId } from '../account.events.js';

/**
 * Credits in order, as a persistent balanced tree: adding, removing and summing take logarithmic
 * time, and a decision may try events on a tree that others share. Weight-balanced (Adams, with the
 * parameters 3 and 2).
 */
export interface Credit {
  readonly rewardId: string;
  /** Epoch milliseconds; Infinity: never. */
  readonly expires: number;
  readonly given: number;
  /** -Infinity: recorded as available. */
  readonly scheduledFor: number;
  /** Above zero. */
  readonly left: number;
}

export type CreditTree = Node | undefined;

interface Node {
  readonly credit: Credit;
  readonly before: CreditTree;
  readonly after: CreditTree;
  readonly size: number;
  /** Sum of the remaining amounts of this subtree. */
  readonly sum: number;
  /** The greatest `scheduledFor` of this subtree. */
  readonly latest: number;
}

export type Order = (a: Credit, b: Credit) => number;

const byId = (a: Credit, b: Credit): number =>
  a.rewardId < b.rewardId ? -1 : a.rewardId > b.rewardId ? 1 : 0;
const compare = (a: number, b: number): number => (a < b ? -1 : a > b ? 1 : 0);

/** The order of spending. */
export const bySoonestExpiry: Order = (a, b) =>
  compare(a.expires, b.expires) || compare(a.given, b.given) || byId(a, b);
export const bySchedule: Order = (a, b) => compare(a.scheduledFor, b.scheduledFor) || byId(a, b);

/** Replaces an equal one. */
export function insert(tree: CreditTree, credit: Credit, order: Order): Node {
  if (!tree) return node(credit, undefined, undefined);
  const place = order(credit, tree.credit);
  if (place === 0) return node(credit, tree.before, tree.after);
  if (place < 0) return balanced(tree.credit, insert(tree.before, credit, order), tree.after);
  return balanced(tree.credit, tree.before, insert(tree.after, credit, order));
}

export function remove(tree: CreditTree, credit: Credit, order: Order): CreditTree {
  if (!tree) return undefined;
  const place = order(credit, tree.credit);
  if (place < 0) return balanced(tree.credit, remove(tree.before, credit, order), tree.after);
  if (place > 0) return balanced(tree.credit, tree.before, remove(tree.after, credit, order));
  if (!tree.before || !tree.after) return tree.before ?? tree.after;
  const next = first(tree.after);
  return balanced(next, tree.before, remove(tree.after, next, order));
}

/** The credits that `keeps` accepts. Linear time: for removing very many at once. */
export function kept(tree: CreditTree, keeps: (credit: Credit) => boolean): CreditTree {
  const stay: Credit[] = [];
  visitAll(tree, (credit) => {
    if (keeps(credit)) stay.push(credit);
  });
  return built(stay, 0, stay.length);
}

function visitAll(tree: CreditTree, visit: (credit: Credit) => void): void {
  if (!tree) return;
  visitAll(tree.before, visit);
  visit(tree.credit);
  visitAll(tree.after, visit);
}

/** The credits in order, from one place to before another. */
function built(credits: readonly Credit[], from: number, to: number): CreditTree {
  const middle = (from + to) >> 1;
  const credit = credits[middle];
  return from < to && credit
    ? node(credit, built(credits, from, middle), built(credits, middle + 1, to))
    : undefined;
}

/** The remaining amount of all that expire after `now`, in a tree by expiry. */
export function sumExpiringAfter(tree: CreditTree, now: number): number {
  let sum = 0;
  for (let at = tree; at;) {
    if (at.credit.expires > now) {
      sum += at.credit.left + (at.after?.sum ?? 0);
      at = at.before;
    } else at = at.after;
  }
  return sum;
}

/** The credits scheduled for later than `now`: skips subtrees without one. */
export function visitScheduledAfter(
  tree: CreditTree,
  now: number,
  visit: (credit: Credit) => void,
): void {
  if (!tree || tree.latest <= now) return;
  visitScheduledAfter(tree.before, now, visit);
  if (tree.credit.scheduledFor > now) visit(tree.credit);
  visitScheduledAfter(tree.after, now, visit);
}

/**
 * Visits those that expire after `now`, in order, in a tree by expiry, until `visit` returns false.
 * @returns false: stopped early.
 */
export function visitExpiringAfter(
  tree: CreditTree,
  now: number,
  visit: (credit: Credit) => boolean,
): boolean {
  if (!tree) return true;
  if (
    tree.credit.expires > now &&
    !(visitExpiringAfter(tree.before, now, visit) && visit(tree.credit))
  )
    return false;
  return visitExpiringAfter(tree.after, now, visit);
}

/** Those due at `now`, in order, in a tree by schedule. */
export function visitDue(tree: CreditTree, now: number, visit: (credit: Credit) => void): void {
  if (!tree) return;
  visitDue(tree.before, now, visit);
  if (tree.credit.scheduledFor > now) return;
  visit(tree.credit);
  visitDue(tree.after, now, visit);
}

/** The first of a tree by schedule, when it is due. */
export function firstDue(tree: CreditTree, now: number): Credit | undefined {
  const credit = tree && first(tree);
  return credit && credit.scheduledFor <= now ? credit : undefined;
}

function first(tree: Node): Credit {
  let at = tree;
  while (at.before) at = at.before;
  return at.credit;
}

const sizeOf = (tree: CreditTree): number => tree?.size ?? 0;

function node(credit: Credit, before: CreditTree, after: CreditTree): Node {
  return {
    credit,
    before,
    after,
    size: sizeOf(before) + sizeOf(after) + 1,
    sum: (before?.sum ?? 0) + (after?.sum ?? 0) + credit.left,
    latest: Math.max(before?.latest ?? -Infinity, after?.latest ?? -Infinity, credit.scheduledFor),
  };
}

function balanced(credit: Credit, before: CreditTree, after: CreditTree): Node {
  if (sizeOf(before) + sizeOf(after) < 2) return node(credit, before, after);
  if (after && after.size > 3 * sizeOf(before)) {
    const inner = after.before;
    if (!inner || inner.size < 2 * sizeOf(after.after))
      return node(after.credit, node(credit, before, inner), after.after);
    return node(
      inner.credit,
      node(credit, before, inner.before),
      node(after.credit, inner.after, after.after),
    );
  }
  if (before && before.size > 3 * sizeOf(after)) {
    const inner = before.after;
    if (!inner || inner.size < 2 * sizeOf(before.before))
      return node(before.credit, before.before, node(credit, inner, after));
    return node(
      inner.credit,
      node(before.credit, before.before, inner.before),
      node(credit, inner.after, after),
    );
  }
  return node(credit, before, after);
}

/**
 * The spendable credit, by unit in lower case and by owner: so a decision reads the credits that it
 * takes and not every reward of the account. The available credit depends on the caller's clock, so
 * both dates are ordered; credit due at the newest event of this person's credit has moved to
 * `ready`, and only credit due since is examined.
 */
export type Spendable = Map<string, Map<PersonId, SpendableOfPerson>>;

export interface SpendableOfPerson {
  /** By soonest expiry: scheduled for no later than `clock`. */
  readonly ready: CreditTree;
  /** By schedule: for later than `clock`. */
  readonly waiting: CreditTree;
  /** Time of the newest event, epoch milliseconds. */
  readonly clock: number;
}
