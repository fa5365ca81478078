import type { SearchHit } from '../../operations/customers/search/search-customers.js';
import { searchCustomers } from '../../operations/customers/search/search-customers.js';
import type { CustomerSearchQueries } from '../../../projections/users/search-queries.js';
import { modeOf, type Scope } from '../../domain/scope.js';
import { NotDone } from '../../operations/outcome.js';
import { redirected, sendPage } from '../console-answers.js';
import type { ConsoleCall, TenantCall } from '../console-call.js';
import { textCell } from '../view/cells.js';
import { listAsked } from '../view/list-page.js';
import { hasRole, tenantPath } from '../view/navigation.js';
import { column, type TableColumn } from '../view/table.js';
import { template } from '../view/templates.js';
import { queried, queryOf, type TenantPages } from './tenant-pages.js';

const content = template('search');

const KINDS: Readonly<Record<SearchHit['kind'], string>> = {
  user: 'User',
  account: 'Account',
  reward: 'Reward',
  referral: 'Referral',
  delivery: 'Webhook delivery',
  mail: 'Mail',
  export: 'Export',
};

/** The page of a hit. */
export function pathOfHit(hit: Pick<SearchHit, 'kind' | 'tenant' | 'mode' | 'id' | 'accountId'>) {
  const path = tenantPath(hit);
  if (hit.accountId !== null) return `${path}/accounts/${encodeURIComponent(hit.accountId)}`;
  if (hit.kind === 'delivery') return `${path}/webhooks/${hit.id}`;
  return hit.kind === 'mail' ? `${path}/mails` : `${path}/exports${queryOf({ asked: hit.id })}`;
}

const columnsOf = (ofAll: boolean): readonly TableColumn<SearchHit>[] => [
  column(['name', 'unsorted'], (hit) =>
    textCell(hit.title, { note: hit.detail, path: pathOfHit(hit) }),
  ),
  column(['kind', 'unsorted'], ({ kind }) => textCell(KINDS[kind])),
  ...(ofAll
    ? [
        column(['tenant', 'unsorted'], ({ tenant, mode }: SearchHit) =>
          textCell(`${tenant} (${mode})`),
        ),
      ]
    : []),
];

const isIn = (hit: SearchHit, { tenant, mode }: Scope): boolean =>
  hit.tenant === tenant && hit.mode === modeOf(mode);

/**
 * Prepares the answer to a search: the page of the one hit, otherwise the list. Each ledger records
 * that its people were found.
 * @param scopes the ledgers to search in. @param call of a tenant's page, or of all tenants.
 * @returns its body.
 */
export async function sendSearch(
  { pages, queries }: { readonly pages: TenantPages; readonly queries: CustomerSearchQueries },
  call: ConsoleCall | TenantCall,
  scopes: readonly Scope[],
): Promise<string> {
  const { search } = queried(call.query, 'search');
  const showsPersonal = hasRole(call.operator, ['finance', 'support']);
  const { request, view } = listAsked(call, {
    path: 'scope' in call ? call.tenantPath : '/console',
    label: 'Results',
    columns: columnsOf(!('scope' in call)),
    newest: { sort: '', descending: false },
    filters: [],
    kept: { search },
    empty: {
      text: showsPersonal
        ? `Nothing matches "${search}". Parts of names, addresses, codes and ids are found.`
        : `No account, reward or referral has the id "${search}".`,
    },
    filePath: null,
  });
  const { limit, offset } = request;
  const asked = { text: search, showsPersonal, limit, offset };
  const find = () => searchCustomers(pages.core, queries, scopes, asked);
  const on = async <T>(ledger: Scope, work: () => Promise<T>): Promise<T> => {
    const { operator } = call;
    const found = await pages.recorded({ operator, ledger }, 'console search', async (core) => ({
      result: await work(),
      // A digest of people's data would outlive them.
      digest: 'search',
      parameters: { text: core.names.digest('console-search', search) },
    }));
    if (found instanceof NotDone) throw new Error('a search is never refused');
    return found;
  };
  const findOnRecord = async (ledger: Scope) => {
    await pages.caughtUp(ledger, 'accounts', 'users', 'rewards', 'referrals');
    return on(ledger, find);
  };
  const found = await ('ledger' in call ? findOnRecord(call.ledger) : find());
  if (!('ledger' in call))
    for (const ledger of scopes) {
      const isFound = found.hits.some((hit) => isIn(hit, ledger));
      if (isFound) await on(ledger, () => Promise.resolve(null));
    }
  if (found.only !== null && offset === 0) return redirected(call, pathOfHit(found.only));
  const { table } = view({ ...found, rows: found.hits });
  return sendPage(call, { title: `Results for "${search}"`, searched: search }, content, { table });
}
