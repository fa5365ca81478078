import { ApiProperty } from '@nestjs/swagger';
import {
  EXPORT_FORMATS,
  EXPORT_TYPES,
  type ExportFormat,
  type ExportType,
} from '../../domain/export/export.decider.js';
import type { ExportStats, ExportStatus, ShownExport } from '../../exports/shown-export.js';
import { Integer, Text, TextOrNull, Time, TimeOrNull } from '../../presenting/answer-members.js';

const STATUSES: readonly ExportStatus[] = ['PENDING', 'COMPLETED', 'ABORTED', 'EXPIRED'];

export class ExportResponse implements ShownExport {
  @Text()
  id: string;
  @Text({ enum: EXPORT_TYPES })
  type: ExportType;
  @Text({ enum: EXPORT_FORMATS })
  format: ExportFormat;
  @TextOrNull()
  name: string | null;
  @Text()
  requester: string;
  @ApiProperty({ type: 'object', additionalProperties: true })
  params: Readonly<Record<string, string | number>>;
  @Text({ enum: STATUSES })
  status: ExportStatus;
  @Time()
  dateCreated: number;
  @TimeOrNull()
  dateCompleted: number | null;
  @Time()
  dateExpires: number;
  @ApiProperty({ type: 'object', nullable: true, additionalProperties: true })
  stats: ExportStats | null;
}

export class ExportListResponse {
  @Integer()
  count: number;
  @Integer()
  totalCount: number;
  @ApiProperty({ type: [ExportResponse] })
  data: ExportResponse[];
}
