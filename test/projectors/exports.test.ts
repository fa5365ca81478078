import { exportsProjector } from '../../projections/exports/projector.js';
import { exports } from '../../projections/exports/table.js';
import type { ExportEvent } from '../../src/domain/export/export.decider.js';
import { anAccount } from '../support/account-events.js';
import { describeProjector } from './support/describe-projector.js';
import { rowsOf } from './support/rows-of.js';

const SOMEWHERE = anAccount('acme');
const REQUESTED: ExportEvent = {
  type: 'ExportRequested',
  at: 1_000,
  exportId: 'e',
  exportType: 'REWARD',
  format: 'XLSX',
  expiresAt: 9_000,
  texts: {
    subject: 'e',
    value: { name: 'May', requester: 'me', params: { createdSince: 'b', a: 1 } },
  },
};
const FILE = { position: '7', rows: 2, bytes: 30, sha256: 'a'.repeat(64) };
const COMPLETED: ExportEvent = { type: 'ExportCompleted', at: 2_000, exportId: 'e', file: FILE };

const row = rowsOf(exports, {
  export_id: 'e',
  type: 'REWARD',
  format: 'XLSX',
  name: 'May',
  requester: 'me',
  params: '{"createdSince":"b","a":1}',
  status: 'PENDING',
  date_created: 1_000,
  date_expires: 9_000,
});
const COMPLETE = row({
  status: 'COMPLETED',
  date_completed: 2_000,
  position: '7',
  row_count: 2,
  byte_count: 30,
  sha256: FILE.sha256,
});

describeProjector(exportsProjector, (given) => {
  test('a requested export waits, with its params as they were sent', () =>
    given(SOMEWHERE, REQUESTED).then({ exports: [row()] }));

  test('a completed export has the facts of its file', () =>
    given(SOMEWHERE, REQUESTED, COMPLETED).then({ exports: [COMPLETE] }));

  test('an aborted export has the reason', () =>
    given(SOMEWHERE, REQUESTED, {
      type: 'ExportAborted',
      at: 2_000,
      exportId: 'e',
      reason: 'why',
    }).then({ exports: [row({ status: 'ABORTED', reason: 'why' })] }));

  test('an expired export keeps what it was', () =>
    given(SOMEWHERE, REQUESTED, COMPLETED, {
      type: 'ExportExpired',
      at: 3_000,
      exportId: 'e',
      because: 'AGE',
    }).then({ exports: [{ ...COMPLETE, status: 'EXPIRED' }] }));

  test('an export without its key shows no texts', () =>
    given(SOMEWHERE, { ...REQUESTED, texts: { subject: 'e', value: null } }).then({
      exports: [row({ name: null, requester: null, params: null })],
    }));
});
