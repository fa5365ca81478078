import type { Readable } from 'node:stream';
import { Controller, Get, Param, Query as QueryParameters } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { Statement, StatementLine } from '../../bookkeeping/statement.js';
import type { Scope } from '../../domain/scope.js';
import {
  tenantStatementCsv,
  tenantStatementOnRecord,
  type TenantStatement,
} from '../../operations/ledger/tenant-statement.js';
import { tenantStatementView } from '../view/tenant-statement-view.js';
import { statementCsv } from '../../operations/ledger/statement-csv.js';
import { entriesAfterDay, laterText } from '../../operations/ledger/later-entries.js';
import {
  statementOnRecord,
  type StatementRequest,
} from '../../operations/ledger/ledger-statement.js';
import { NotDone, type Outcome } from '../../operations/outcome.js';
import { ConsoleCall, fileSent, ForRoles, longPageSent, pageSent } from '../console-call.js';
import { faultsOf } from '../view/faults.js';
import type { Frame } from '../view/layout.js';
import { onPage } from '../view/paging.js';
import { inOrder, type AskedOrder, type Column } from '../view/sorting.js';
import { template, type WithForms } from '../view/templates.js';
import {
  filledIn,
  queried,
  queryOf,
  TENANT_ROUTE,
  TenantPages,
  type TenantParameters,
} from './tenant-pages.js';
import { TEXTS } from '../texts.js';

interface Asked {
  readonly account: string;
  readonly position: string;
  readonly asOf: string;
  readonly from: string;
  readonly to: string;
  readonly unit: string;
}

interface ShownStatement {
  readonly asked: Asked;
  readonly section: AskedOrder & { readonly page: string };
  readonly found: Outcome<Statement | TenantStatement>;
  /** Number of entries that count after the end. */
  readonly later?: number;
}

const COLUMNS: readonly Column<StatementLine>[] = [
  { label: TEXTS.statement.recorded, key: 'recorded', value: ({ recordedAt }) => recordedAt },
  { label: TEXTS.statement.effective, key: 'effective', value: ({ effectiveAt }) => effectiveAt },
  { label: TEXTS.common.type, key: 'type', value: ({ type }) => type },
  { label: TEXTS.common.who, key: 'who', value: ({ actor }) => actor },
  { label: TEXTS.common.reward, key: 'reward', value: ({ rewardId }) => rewardId },
  { label: TEXTS.fields.amount, key: 'amount', isNumber: true, value: ({ amount }) => amount },
  { label: TEXTS.common.balance, isNumber: true },
  { label: TEXTS.common.event },
];

const content = template<
  WithForms & {
    asked: Asked;
    moments: Readonly<Record<'from' | 'to' | 'asOf', string>>;
    statement: ReturnType<typeof shownStatement> | null;
    ofTenant: ReturnType<typeof tenantStatementView> | null;
    csvPath: string;
    later: string | undefined;
  }
>(`
<form class="fields" method="get">
{{formField 'account' label="${TEXTS.fields.account}" value=asked.account placeholder="${TEXTS.common.all}"}}
{{formField 'from' label="${TEXTS.fields.from}" value=asked.from placeholder="2026-10-01"}}
{{formField 'to' label="${TEXTS.fields.to}" value=asked.to placeholder="2026-10-31"}}
{{formField 'asOf' label="${TEXTS.fields.asOf}" value=asked.asOf placeholder="2026-10-31"}}
{{formField 'position' label="${TEXTS.fields.position}" value=asked.position}}
{{formField 'unit' label="${TEXTS.fields.unit}" value=asked.unit placeholder="${TEXTS.common.all}"}}
<button>${TEXTS.statement.show}</button>
</form>
{{#if later}}<p class="note" role="status">{{later}}</p>{{/if}}
{{#if ofTenant}}<p class="actions"><a href="{{csvPath}}" download>${TEXTS.common.asCsv}</a></p>
{{> tenantStatement ofTenant}}{{/if}}
{{#if statement}}
<dl class="figures">
<div><dt>${TEXTS.fields.account}</dt><dd>{{statement.account}}</dd></div>
{{#if asked.from}}<div><dt>${TEXTS.fields.from}</dt><dd>{{moments.from}}</dd></div>{{/if}}
{{#if asked.to}}<div><dt>${TEXTS.fields.to}</dt><dd>{{moments.to}}</dd></div>{{/if}}
{{#if asked.asOf}}<div><dt>${TEXTS.fields.asOf}</dt><dd>{{moments.asOf}}</dd></div>{{/if}}
<div><dt>${TEXTS.fields.position}</dt><dd>{{figure 'position' statement.position ''}}</dd></div>
<div><dt>${TEXTS.common.digest}</dt><dd class="id">{{figure 'digest' statement.digest ''}}</dd></div>
</dl>
<p class="actions"><a href="{{csvPath}}" download>${TEXTS.common.asCsv}</a></p>
{{#each statement.units}}
<h2>{{unit}}</h2>
<div class="scroll" tabindex="0"><table>
<thead>{{> heads}}</thead>
<tbody>
<tr class="sum"><td></td><td></td><td>${TEXTS.statement.opening}</td><td></td><td></td><td></td><td class="number">{{figure openingName opening unit}}</td><td></td></tr>
{{#each rows}}<tr><td>{{time recordedAt}}</td><td>{{time effectiveAt}}</td><td>{{type}}</td><td>{{actor}}</td><td class="id">{{rewardId}}</td><td class="number">{{figure 'line.amount' amount '' of=../unit}}</td><td class="number">{{figure 'line.balance' balance '' of=../unit}}</td><td class="id">{{eventId}}</td></tr>
{{/each}}<tr class="sum"><td></td><td></td><td>${TEXTS.statement.closing}</td><td></td><td></td><td></td><td class="number">{{figure closingName closing unit}}</td><td></td></tr>
</tbody></table></div>
{{> pager}}
{{else}}<p class="empty">{{#if asked.unit}}${TEXTS.statement.noCreditInUnit}{{else}}${TEXTS.statement.noCredit}{{/if}}</p>
{{/each}}
{{/if}}`);

/** For finance and viewers: the statement of an account, or of all of them. */
@ApiExcludeController()
@Controller(`${TENANT_ROUTE}/statement`)
export class ConsoleStatementController {
  constructor(private readonly pages: TenantPages) {}

  @Get()
  @ForRoles('finance', 'viewer')
  async statement(
    @ConsoleCall() call: ConsoleCall,
    @Param() parameters: TenantParameters,
    @QueryParameters() query: unknown,
  ): Promise<string | Readable> {
    const scope = await this.pages.scopeOf(parameters);
    const { format, sort, dir, page, ...asked } = queried(
      query,
      ...(['account', 'position', 'asOf', 'from', 'to', 'unit', 'format'] as const),
      ...(['sort', 'dir', 'page'] as const),
    );
    const section = { sort, dir, page };
    const frame = { title: TEXTS.sections.statement, scope, section: '/statement' };
    if (format !== 'csv')
      return longPageSent(call, frame, async (accepted) => {
        let later = 0;
        const noteLater = (entries: number): void => void (later = entries);
        const found = await this.found(call, scope, { ...asked, accepted, noteLater });
        return this.shown(call, frame, { asked, section, found, later });
      });
    const found = await this.found(call, scope, asked);
    if (found instanceof NotDone) return this.shown(call, frame, { asked, section, found });
    return fileSent(
      call,
      { name: fileNameOf(scope, asked), type: 'text/csv; charset=utf-8; header=present' },
      'account' in found ? statementCsv(found) : tenantStatementCsv(found),
    );
  }

  private shown(
    call: ConsoleCall,
    frame: Omit<Frame, 'session'>,
    { asked, section, found, later = 0 }: ShownStatement,
  ): string {
    const made = found instanceof NotDone ? null : found;
    const ofAccount = made !== null && 'account' in made ? made : null;
    const ofTenant = made !== null && 'tenant' in made ? made : null;
    return pageSent(call, { ...frame, faults: faultsOf(found) }, content, {
      asked,
      moments: { from: momentOf(asked.from), to: momentOf(asked.to), asOf: momentOf(asked.asOf) },
      statement: ofAccount && shownStatement(ofAccount, asked, section),
      ofTenant:
        ofTenant &&
        tenantStatementView(ofTenant, section, (sorted) => queryOf({ ...asked, ...sorted })),
      csvPath: queryOf({ ...asked, format: 'csv' }),
      later: laterText(later, 'statement'),
    });
  }

  private async found(
    call: ConsoleCall,
    scope: Scope,
    {
      account: accountId,
      accepted,
      noteLater,
      ...selection
    }: Asked & Pick<StatementRequest, 'accepted' | 'noteLater'>,
  ): Promise<Outcome<Statement | TenantStatement>> {
    if (accountId !== '')
      return this.pages.recorded(call, [scope, 'ledger statement'], (core) =>
        statementOnRecord(core, scope, {
          accountId,
          accepted,
          noteLater,
          ...filledIn(selection),
        }),
      );
    const { position, asOf, ...period } = selection;
    if (position !== '' || asOf !== '') return new NotDone({ code: 'TENANT_STATEMENT_BY_DAYS' });
    return this.pages.recorded(call, [scope, 'ledger tenant-statement'], async (core) => {
      const done = await tenantStatementOnRecord(core, scope, filledIn(period));
      if (noteLater !== undefined && !(done instanceof NotDone))
        noteLater(await entriesAfterDay(core, scope, done.result.to));
      return done;
    });
  }
}

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

/** Of each unit the lines of one page: its opening and closing are on each. */
function shownStatement(
  statement: Statement,
  asked: Asked,
  { page, ...order }: AskedOrder & { readonly page: string },
) {
  const units = statement.units.map(({ lines, ...one }) => {
    const { rows, heads } = inOrder(lines, COLUMNS, order, (sorted) =>
      queryOf({ ...asked, ...sorted }),
    );
    return {
      ...one,
      heads,
      ...onPage(rows, page, (at) => queryOf({ ...asked, ...order, page: at })),
      openingName: `opening:${one.unit}`,
      closingName: `closing:${one.unit}`,
    };
  });
  return { ...statement, units };
}
