import { EXPORT_FORMATS, EXPORT_TYPES } from '../../domain/export/export.decider.js';
import type { ExportStats, ExportStatus, ShownExport } from '../../exports/shown-export.js';
import {
  answerOf,
  answers,
  described,
  integer,
  mapOf,
  oneOf,
  orNull,
  text,
  time,
} from '../../presenting/answer-members.js';

const STATUSES: readonly ExportStatus[] = ['PENDING', 'COMPLETED', 'ABORTED', 'EXPIRED'];

export class ExportResponse
  extends answerOf({
    id: text,
    type: oneOf(EXPORT_TYPES),
    format: oneOf(EXPORT_FORMATS),
    name: orNull(text),
    requester: text,
    params: mapOf<string | number>(true),
    status: oneOf(STATUSES),
    dateCreated: time,
    dateCompleted: orNull(time),
    dateExpires: time,
    stats: orNull(described<ExportStats>({ type: 'object', additionalProperties: true })),
  })
  implements ShownExport {}

export class ExportListResponse extends answerOf({
  count: integer,
  totalCount: integer,
  data: answers(ExportResponse),
}) {}
