import { defineProjector } from '../../src/projecting/define-projector.js';
import { exports } from './table.js';

const ownRow = ({ event }: { readonly event: { readonly exportId: string } }) => [
  exports.key(event.exportId),
];

/** Exports and their outcome, without data of the people in the files. */
export const exportsProjector = defineProjector({
  name: 'exports',
  tables: [exports],
  on: {
    ExportRequested: {
      keys: ownRow,
      apply({ event, tenant, mode }, rows) {
        const { exportId, exportType, format, texts, at, expiresAt } = event;
        const { name = null, requester = null, params = null } = texts.value ?? {};
        exports.put(rows, {
          export_id: exportId,
          tenant,
          mode,
          type: exportType,
          format,
          name,
          requester,
          params: params && JSON.stringify(params),
          status: 'PENDING',
          date_created: at,
          date_completed: null,
          date_expires: expiresAt,
          position: null,
          row_count: null,
          byte_count: null,
          sha256: null,
          reason: null,
        });
      },
    },
    ExportCompleted: {
      keys: ownRow,
      apply({ event: { exportId, at, file } }, rows) {
        exports.change(rows, [exportId], (row) => ({
          ...row,
          status: 'COMPLETED',
          date_completed: at,
          position: file.position,
          row_count: file.rows,
          byte_count: file.bytes,
          sha256: file.sha256,
        }));
      },
    },
    ExportAborted: {
      keys: ownRow,
      apply({ event: { exportId, reason } }, rows) {
        exports.change(rows, [exportId], (row) => ({ ...row, status: 'ABORTED', reason }));
      },
    },
    ExportExpired: {
      keys: ownRow,
      apply({ event: { exportId } }, rows) {
        exports.change(rows, [exportId], (row) => ({ ...row, status: 'EXPIRED' }));
      },
    },
  },
});
