import type { Readable } from 'node:stream';
import { Controller, Get, Param, Query as QueryParameters } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { select } from '../../operations/ledger/ledger-selection.js';
import { NotDone } from '../../operations/outcome.js';
import { OperationsCore } from '../../http/operations/operations-core.js';
import { ConsoleCall, FileForRoles, fileSent, pageSent } from '../console-call.js';
import { EventDownloads } from '../event-downloads.js';
import { faultsOf } from '../view/faults.js';
import { template } from '../view/templates.js';
import {
  filledIn,
  queried,
  TENANT_ROUTE,
  TenantPages,
  type TenantParameters,
} from './tenant-pages.js';
import { TEXTS } from '../texts.js';

const content = template(`
<p>${TEXTS.events.explained}</p>
<form class="fields" method="get"><input type="hidden" name="format" value="jsonl">
{{formField 'from' label="${TEXTS.fields.from}" value=asked.from placeholder="2026-10-01"}}
{{formField 'to' label="${TEXTS.fields.to}" value=asked.to placeholder="2026-10-31T23:59:59Z"}}
<button>${TEXTS.common.export}</button>
</form>`);

/** For finance: the events of a ledger as a file. */
@ApiExcludeController()
@Controller(`${TENANT_ROUTE}/events`)
export class ConsoleEventsController {
  constructor(
    private readonly pages: TenantPages,
    private readonly operations: OperationsCore,
    private readonly downloads: EventDownloads,
  ) {}

  @Get()
  @FileForRoles('finance')
  async page(
    @ConsoleCall() call: ConsoleCall,
    @Param() parameters: TenantParameters,
    @QueryParameters() query: unknown,
  ): Promise<string | Readable> {
    const scope = await this.pages.scopeOf(parameters);
    const { format, ...asked } = queried(query, 'from', 'to', 'format');
    const selection = await select(this.operations.core.log, filledIn(asked));
    if (format === 'jsonl' && !(selection instanceof NotDone)) {
      const name = `events-${scope.tenant}-${scope.mode}.jsonl`;
      const file = { name, type: 'application/jsonl; charset=utf-8' };
      return fileSent(call, file, this.downloads.begin(call, scope, filledIn(asked)));
    }
    const frame = {
      title: TEXTS.sections.events,
      scope,
      section: '/events',
      faults: faultsOf(selection),
    };
    return pageSent(call, frame, content, { asked });
  }
}
