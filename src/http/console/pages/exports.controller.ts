import { Controller, Get, HttpCode, Param, Post, Query as QueryParameters } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { accountProjectors } from '../../../../projections/account-projectors.js';
import type { Scope } from '../../../domain/scope.js';
import { OPERATOR } from '../../../operations/audit.js';
import { cancelOnRecord, listExports } from '../../../operations/exports/export-commands.js';
import { NotDone } from '../../../operations/outcome.js';
import { OperationsCore } from '../../operations/operations-core.js';
import { ConsoleCall, ForRoles, pageSent, redirected } from '../console-call.js';
import { tenantPath } from '../view/layout.js';
import { inOrder, type Column, type HeadView } from '../view/sorting.js';
import { template, type WithForms } from '../view/templates.js';
import {
  problemOf,
  queried,
  queryOf,
  TENANT_ROUTE,
  TenantPages,
  type Refused,
  type TenantParameters,
} from './tenant-pages.js';

const SHOWN_MAX = 100;
const COLUMNS: readonly Column<{
  readonly dateCreated: number;
  readonly dateExpires: number;
  readonly name?: string | null;
  readonly type: string;
  readonly format: string;
  readonly status: string;
}>[] = [
  { label: 'Asked for', key: 'asked', value: ({ dateCreated }) => dateCreated },
  { label: 'Name', key: 'name', value: ({ name }) => name ?? null },
  { label: 'Type', key: 'type', value: ({ type }) => type },
  { label: 'Format', key: 'format', value: ({ format }) => format },
  { label: 'State', key: 'state', value: ({ status }) => status },
  { label: 'Figures' },
  { label: 'Expires', key: 'expires', value: ({ dateExpires }) => dateExpires },
  { label: 'Export' },
  { label: 'Cancel' },
];

const content = template<
  WithForms & Refused & { exports: readonly object[]; heads: readonly HeadView[] }
>(`
{{#if problem}}<p class="problem" role="alert">{{problem}}</p>{{/if}}
{{#if exports.length}}<div class="scroll" tabindex="0"><table>
<thead>{{> heads}}</thead>
<tbody>{{#each exports}}<tr><td>{{time createdAt}}</td><td>{{name}}</td><td>{{type}}</td><td>{{format}}</td><td>{{status}}</td><td>{{#each figures}}<div>{{name}}: <span class="id">{{amount value}}</span></div>{{/each}}</td><td>{{time expiresAt}}</td><td class="id">{{id}}</td><td>{{#if isPending}}<form method="post">{{> csrf}}<input type="hidden" name="export" value="{{id}}"><button class="quiet">Cancel</button></form>{{/if}}</td></tr>
{{/each}}</tbody></table></div><p class="note">The newest ${SHOWN_MAX}.</p>
{{else}}<p class="empty">Nothing was exported yet. The tenant exports by POST /export, you by <code>cli export run</code>.</p>{{/if}}`);

/** For support: what the tenant exported. */
@ApiExcludeController()
@Controller(`${TENANT_ROUTE}/exports`)
export class ConsoleExportsController {
  constructor(
    private readonly pages: TenantPages,
    private readonly operations: OperationsCore,
  ) {}

  @Get()
  @ForRoles('support')
  async page(
    @ConsoleCall() call: ConsoleCall,
    @Param() parameters: TenantParameters,
    @QueryParameters() query: unknown,
  ): Promise<string> {
    return this.shown(call, await this.pages.scopeOf(parameters), query, null);
  }

  @Post()
  @HttpCode(200)
  @ForRoles('support')
  async cancel(
    @ConsoleCall() call: ConsoleCall,
    @Param() parameters: TenantParameters,
  ): Promise<string> {
    const scope = await this.pages.scopeOf(parameters);
    const id = call.form.text('export');
    const outcome = await this.pages.recorded(call, [scope, 'export cancel'], (core) =>
      cancelOnRecord(core, scope, id, OPERATOR),
    );
    if (outcome instanceof NotDone) return this.shown(call, scope, {}, problemOf(outcome));
    return redirected(call, `${tenantPath(scope)}/exports`);
  }

  private async shown(
    call: ConsoleCall,
    scope: Scope,
    query: unknown,
    problem: string | null,
  ): Promise<string> {
    const asked = { projectors: accountProjectors, limit: SHOWN_MAX };
    const found = await listExports(this.operations.core, scope, asked);
    if (problem !== null) void call.reply.code(400);
    const { rows, heads } = inOrder(
      found instanceof NotDone ? [] : found,
      COLUMNS,
      queried(query, 'sort', 'dir'),
      (order) => queryOf({ ...order }),
    );
    return pageSent(call, { title: 'Exports', scope, section: '/exports' }, content, {
      problem: problem ?? problemOf(found),
      heads,
      exports: rows.map((one) => ({
        ...one,
        name: one.name ?? '',
        isPending: one.status === 'PENDING',
        createdAt: new Date(one.dateCreated).toISOString(),
        expiresAt: new Date(one.dateExpires).toISOString(),
        figures: Object.entries(one.stats ?? {}).map(([name, value]) => ({ name, value })),
      })),
    });
  }
}
