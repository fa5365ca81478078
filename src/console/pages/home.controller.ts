import { Controller } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { OpenTenant } from '../../domain/tenant/tenant.decider.js';
import { ConsoleCall, PageFor, pageSent } from '../console-call.js';
import { TEXTS } from '../texts.js';
import { tenantPath } from '../view/navigation.js';
import { inOrder, type Column } from '../view/sorting.js';
import { template } from '../view/templates.js';
import { queried, queryOf, TenantPages } from './tenant-pages.js';

const COLUMNS: readonly Column<ReturnType<typeof tenantRow>>[] = [
  { label: TEXTS.common.tenant, key: 'tenant', value: 'alias' },
  { label: TEXTS.common.program, key: 'program', value: 'programType' },
  {
    label: TEXTS.common.state,
    key: 'state',
    value: ({ isSuspended }) => (isSuspended ? TEXTS.home.suspended : TEXTS.home.active),
  },
  { label: TEXTS.home.testMode },
];

const content = template('tenants');

/** Where the console begins. */
@ApiExcludeController()
@Controller('console')
export class ConsoleHomeController {
  constructor(private readonly pages: TenantPages) {}

  @PageFor('finance', 'support', 'viewer')
  async home(@ConsoleCall() call: ConsoleCall): Promise<string> {
    const tenants = await this.pages.core.tenantCommands.list();
    const asked = queried(call.query, 'sort', 'dir');
    const { rows, heads } = inOrder(tenants.map(tenantRow), COLUMNS, asked, queryOf);
    return pageSent(call, { title: TEXTS.sections.tenants, section: '/console' }, content, {
      tenants: rows,
      heads,
      wanted: call.takeWanted() ?? null,
    });
  }
}

const tenantRow = ({ alias, programType, suspended }: OpenTenant) => ({
  alias,
  programType,
  isSuspended: suspended !== null,
  live: tenantPath({ tenant: alias, mode: 'live' }),
  test: tenantPath({ tenant: alias, mode: 'test' }),
});
