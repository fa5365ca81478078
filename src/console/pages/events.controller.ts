import type { Readable } from 'node:stream';
import { Get } from '@nestjs/common';
import { select } from '../../operations/ledger/ledger-selection.js';
import { FileForRoles, fileSent, pageSent, TenantCall, TenantPage } from '../console-call.js';
import { EventDownloads } from '../event-downloads.js';
import { faultsOf } from '../view/faults.js';
import { template } from '../view/templates.js';
import { filledIn, queried, TenantPages } from './tenant-pages.js';
import { NotDone, outcomeOf } from '../../operations/outcome.js';

const content = template('events');

/** For finance: the events of a ledger as a file. */
@TenantPage('events')
export class ConsoleEventsController {
  constructor(
    private readonly pages: TenantPages,
    private readonly downloads: EventDownloads,
  ) {}

  @Get()
  @FileForRoles('finance')
  async page(@TenantCall() call: TenantCall): Promise<string | Readable> {
    const { format, ...asked } = queried(call.query, 'from', 'to', 'format');
    const { log, tenants } = this.pages.core;
    const now = await tenants.now(call.ledger);
    const selection = await outcomeOf(() => select(log, filledIn(asked), now));
    if (format === 'jsonl' && !(selection instanceof NotDone)) {
      const name = `events-${call.scope.tenant}-${call.scope.mode}.jsonl`;
      const file = { name, type: 'application/jsonl; charset=utf-8' };
      return fileSent(call, file, this.downloads.begin(call, filledIn(asked)));
    }
    return pageSent(
      call,
      { title: 'Export of events', section: '/verify', faults: faultsOf(selection) },
      content,
      { asked },
    );
  }
}
