import type {
  CustomerSearchQueries,
  FoundRow,
} from '../../../../projections/users/search-queries.js';
import { modeOf, type Mode, type Scope } from '../../../domain/scope.js';
import type { Core } from '../../../stores/core.js';
import { deliveredById, type DeliveredById } from './delivered-by-id.js';

/** A hit of a search, and where it is; without an account it has another page. */
export type SearchHit = ReturnType<typeof foundHit> | ReturnType<typeof deliveredHit>;

export interface CustomerSearch {
  readonly text: string;
  /** False: finds accounts by their whole id, rewards and referrals, without names. */
  readonly showsPersonal: boolean;
  readonly limit: number;
  readonly offset: number;
}

type SearchedCore = Pick<Core, 'names' | 'pool'>;

/**
 * Searches users and accounts by parts of names, addresses, ids and codes, in any order of the
 * words, and rewards, referrals, webhooks, mails and exports by their ids.
 * @param scopes the ledgers to search in: one, or those of every tenant.
 */
export async function searchCustomers(
  { names, pool }: SearchedCore,
  queries: Pick<CustomerSearchQueries, 'page'>,
  scopes: readonly Scope[],
  { text, showsPersonal, limit, offset }: CustomerSearch,
) {
  const whole = text.trim();
  const delivered = showsPersonal ? await deliveredById(pool, scopes, whole) : [];
  const first = delivered.slice(offset, offset + limit);
  const found = await queries.page({
    text,
    scopes: scopes.map((scope) => ({ ...scope, accountRef: names.accountRef(scope, whole) })),
    showsPersonal,
    limit: limit - first.length,
    offset: Math.max(0, offset - delivered.length),
  });
  const hits = [...first.map(deliveredHit), ...found.rows.map(foundHit)];
  const total = delivered.length + found.total;
  // `total` counts other pages as well; about so many where more are found than are counted.
  return { hits, total, isAbout: found.isAbout, only: onlyOf(hits, total, found.onlyAccount) };
}

/** The ledgers of all tenants, live first. */
export async function everyLedger({
  tenantCommands,
  tenants,
}: Pick<Core, 'tenantCommands' | 'tenants'>): Promise<readonly Scope[]> {
  const known = await tenantCommands.list();
  const of = (mode: Mode) => known.map(({ alias }) => tenants.ledger({ tenant: alias, mode }));
  return Promise.all([...of('live'), ...of('test')]);
}

/** The one hit, or the account that all hits are about; null: the hits are a list. */
function onlyOf(
  hits: readonly SearchHit[],
  total: number,
  onlyAccount: string | null,
): Pick<SearchHit, 'kind' | 'tenant' | 'mode' | 'id' | 'accountId'> | null {
  const [hit] = hits;
  if (hit === undefined) return null;
  if (total === 1) return hit;
  return onlyAccount !== null &&
    total === hits.length &&
    hits.every((one) => one.accountId !== null)
    ? {
        kind: 'account',
        tenant: hit.tenant,
        mode: hit.mode,
        id: onlyAccount,
        accountId: onlyAccount,
      }
    : null;
}

/** `title`: the name of a person, otherwise the id; `detail` distinguishes hits of one title. */
function foundHit({ kind, tenant, mode, id, accountId, name, detail }: FoundRow) {
  const at = { kind, tenant, mode: modeOf(mode), id, accountId };
  switch (kind) {
    case 'user':
      return {
        ...at,
        title: name ?? id,
        detail: listed(name === id ? null : id, detail, accountId),
      };
    case 'account':
      return { ...at, title: name ?? id, detail: name === null ? '' : `Account ${id}` };
    case 'reward':
      return { ...at, title: name ?? id, detail: listed(`Reward ${id}`, accountId) };
    case 'referral':
      return { ...at, title: name ?? id, detail: referralIn(id, detail) };
    case 'export':
      return { ...at, title: id, detail: 'Export' };
  }
}

const referralIn = (id: string, referrer: string | null): string =>
  referrer === null ? `Referral ${id}` : `Referred by ${referrer}, referral ${id}`;

const deliveredHit = ({ kind, tenant, mode, id, type }: DeliveredById) => ({
  kind,
  tenant,
  mode: modeOf(mode),
  id,
  accountId: null,
  title: id,
  detail: `${kind === 'mail' ? 'Mail' : 'Webhook delivery'} ${type}`,
});

const listed = (...parts: readonly (string | null)[]): string =>
  [...new Set(parts)].filter((part) => part !== null && part !== '').join(' · ');
