import type { Statement, StatementLine } from '../../bookkeeping/statement.js';
import type { Scope } from '../../domain/scope.js';
import {
  statementIsByDays,
  statementOfTenant,
  type TenantStatement,
} from '../../operations/ledger/tenant-statement.js';
import { statementView, tenantStatementView } from '../view/tenant-statement-view.js';
import {
  lineInWords,
  statementCsv,
  tenantStatementCsv,
} from '../../operations/ledger/ledger-tables.js';
import { entriesAfter, laterText } from '../../operations/ledger/later-entries.js';
import { statementOfAccount } from '../../operations/ledger/ledger-statement.js';
import { fileSent, PageFor, pageSent, TenantCall, TenantPage } from '../console-call.js';
import { faultsOf } from '../view/faults.js';
import type { PathOf } from '../view/paging.js';
import type { Column } from '../view/sorting.js';
import { template } from '../view/templates.js';
import { filledIn, queried, queryOf, TenantPages } from './tenant-pages.js';
import { TEXTS } from '../texts.js';
import { NotDone, type Outcome } from '../../operations/outcome.js';

const ASKED = ['account', 'position', 'asOf', 'from', 'to', 'unit'] as const;
type Asked = Readonly<Record<(typeof ASKED)[number], string>>;

const COLUMNS: readonly Column<StatementLine>[] = [
  { label: TEXTS.statement.recorded, key: 'recorded', value: 'recordedAt' },
  { label: TEXTS.statement.effective, key: 'effective', value: 'effectiveAt' },
  { label: TEXTS.common.type, key: 'type', value: 'type' },
  { label: TEXTS.common.who, key: 'who', value: 'actor' },
  { label: TEXTS.common.reward, key: 'reward', value: 'rewardId' },
  { label: TEXTS.fields.amount, key: 'amount', isNumber: true, value: 'amount' },
  { label: TEXTS.common.balance, isNumber: true },
  { label: TEXTS.common.event },
];

const content = template('statement');

/** For finance and viewers: the statement of an account, or of all of them. */
@TenantPage('statement')
export class ConsoleStatementController {
  constructor(private readonly pages: TenantPages) {}

  @PageFor('finance', 'viewer')
  async statement(@TenantCall() call: TenantCall): Promise<string> {
    const { format, ...asked } = queried(call.query, 'format', ...ASKED);
    const { found, later } = await this.found(call, asked);
    if (format !== 'csv' || found instanceof NotDone) return this.shown(call, found, later);
    return fileSent(
      call,
      { name: fileNameOf(call.scope, asked), type: 'text/csv; charset=utf-8; header=present' },
      'account' in found ? statementCsv(found) : tenantStatementCsv(found),
    );
  }

  /** @param later number of entries that count after the end. */
  private shown(
    call: TenantCall,
    found: Outcome<Statement | TenantStatement>,
    later: number,
  ): string {
    const asked = queried(call.query, ...ASKED);
    const section = queried(call.query, 'sort', 'dir', 'page');
    const made = found instanceof NotDone ? null : found;
    const ofAccount = made !== null && 'account' in made ? made : null;
    const ofTenant = made !== null && 'tenant' in made ? made : null;
    const pathOf: PathOf = (other) => queryOf({ ...asked, ...other });
    return pageSent(call, { of: 'statement', faults: faultsOf(found) }, content, {
      asked,
      moments: { from: momentOf(asked.from), to: momentOf(asked.to), asOf: momentOf(asked.asOf) },
      statement: ofAccount && statementView(inWords(ofAccount), COLUMNS, section, pathOf),
      ofTenant: ofTenant && tenantStatementView(ofTenant, section, pathOf),
      csvPath: pathOf({ format: 'csv' }),
      later: laterText(later, 'statement'),
    });
  }

  /** With the number of entries that count after the end. */
  private async found(
    call: TenantCall,
    { account, ...selection }: Asked,
  ): Promise<{ found: Outcome<Statement | TenantStatement>; later: number }> {
    let later = 0;
    if (account !== '') {
      const found = await this.pages.recorded(call, 'ledger statement', async (core) => {
        const request = { account, ...filledIn(selection) };
        const done = await statementOfAccount(core, call.ledger, request);
        later = done.later;
        return done;
      });
      return { found, later };
    }
    const { position, asOf, ...period } = selection;
    if (position !== '' || asOf !== '') return { found: statementIsByDays(), later };
    const found = await this.pages.recorded(call, 'ledger tenant-statement', async (core) => {
      const done = await statementOfTenant(core, call.ledger, filledIn(period));
      later = await entriesAfter(core, call.ledger, done.result.to);
      return done;
    });
    return { found, later };
  }
}

const inWords = (statement: Statement) => ({
  ...statement,
  units: statement.units.map((one) => ({
    ...one,
    lines: one.lines.map((line) => ({ ...line, words: lineInWords(line.type) })),
  })),
});

/** As typed; without a zone it is UTC. */
const momentOf = (typed: string): string =>
  /T.*(?:Z|[+-]\d{2}:?\d{2})$/.test(typed) ? typed : TEXTS.common.utc(typed);

/** `statement-demo-live-account-1-2026-10-01-2026-10-31.csv` */
function fileNameOf({ tenant, mode }: Scope, { account, from, to }: Asked): string {
  const parts = ['statement', tenant, mode, account, from, to].filter((part) => part !== '');
  return `${parts
    .join('-')
    .replace(/[^\w.-]+/g, '_')
    .slice(0, 200)}.csv`;
}
