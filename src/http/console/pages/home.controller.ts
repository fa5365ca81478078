import { Controller, Get } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { OperationsCore } from '../../operations/operations-core.js';
import { ConsoleCall, ForRoles, pageSent } from '../console-call.js';
import { tenantPath } from '../view/layout.js';
import { template, type WithForms } from '../view/templates.js';

const content = template<
  WithForms & {
    tenants: readonly {
      alias: string;
      programType: string;
      isSuspended: boolean;
      live: string;
      test: string;
    }[];
  }
>(`
{{#if tenants.length}}
<div class="scroll" tabindex="0"><table>
<thead><tr><th scope="col">Tenant</th><th scope="col">Program</th><th scope="col">State</th><th scope="col">Test mode</th></tr></thead>
<tbody>{{#each tenants}}<tr><td><a href="{{live}}">{{alias}}</a></td><td>{{programType}}</td><td>{{#if isSuspended}}suspended{{else}}active{{/if}}</td><td><a href="{{test}}">{{alias}}, test</a></td></tr>
{{/each}}</tbody></table></div>
{{else}}<p class="empty">There is no tenant yet. <code>cli tenant create &lt;alias&gt;</code> makes the first one.</p>{{/if}}`);

/** Where the console begins. */
@ApiExcludeController()
@Controller('console')
export class ConsoleHomeController {
  constructor(private readonly operations: OperationsCore) {}

  @Get()
  @ForRoles('finance', 'support', 'viewer')
  async home(@ConsoleCall() call: ConsoleCall): Promise<string> {
    const tenants = await this.operations.core.tenantCommands.list();
    return pageSent(call, { title: 'Tenants', section: '/console' }, content, {
      tenants: tenants.map(({ alias, programType, suspended }) => ({
        alias,
        programType,
        isSuspended: suspended !== null,
        live: tenantPath({ tenant: alias, mode: 'live' }),
        test: tenantPath({ tenant: alias, mode: 'test' }),
      })),
    });
  }
}
