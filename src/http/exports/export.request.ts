import { applyDecorators } from '@nestjs/common';
import { ApiPropertyOptional } from '@nestjs/swagger';
import { IsOptional, ValidateBy } from 'class-validator';
import {
  EXPORT_FORMATS,
  EXPORT_TYPES,
  type ExportFormat,
  type ExportType,
} from '../../domain/export/export.decider.js';
import { EXPORT_DATES } from '../../exports/export-order.js';
import {
  PARAM_PROBLEMS_MAX,
  PARAMS,
  problemsOfParams,
  type ExportParams,
} from '../../exports/export-params.js';
import { CONTROLS } from '../../foundation/outside-text.js';
import { ISO_TIME } from '../../foundation/instant.js';
import { NUMBER_AS_TEXT, OneOf, Optional, OptionalText } from '../shapes/request-members.js';
import { isPlainObject, Member } from '../shapes/request-shape.js';

export const EXPORT_TEXT_LENGTH_MAX = 255;
const CONTROL = /\p{Cc}/u;

const LINE = {
  words: `be at most ${EXPORT_TEXT_LENGTH_MAX} characters without control characters`,
  test: (text: string) => [...text].length <= EXPORT_TEXT_LENGTH_MAX && !CONTROL.test(text),
  described: { pattern: `[^${CONTROLS}]{0,${EXPORT_TEXT_LENGTH_MAX}}` },
};

/** Null and empty members count as missing. */
const given = (params: unknown): unknown =>
  isPlainObject(params)
    ? Object.fromEntries(
        Object.entries(params).filter(
          ([name, value]) => !PARAMS.includes(name) || (value !== null && value !== ''),
        ),
      )
    : params === null
      ? undefined
      : params;

const problemsOf = (params: unknown): readonly string[] =>
  isPlainObject(params) ? problemsOfParams(params) : ['params must be an object'];

/** A rule per possible problem, each with its own line. */
const ParamRules = (): readonly PropertyDecorator[] =>
  Array.from({ length: PARAM_PROBLEMS_MAX }, (_, index) =>
    ValidateBy({
      name: `params ${index}`,
      validator: {
        validate: (value: unknown) => problemsOf(value).length <= index,
        defaultMessage: (args) => problemsOf(args?.value)[index] ?? '',
      },
    }),
  );

/** Filters, all of which must match. */
const Params = (): PropertyDecorator =>
  applyDecorators(
    Member(given),
    IsOptional(),
    ...ParamRules(),
    ApiPropertyOptional({
      type: 'object',
      nullable: true,
      additionalProperties: false,
      properties: {
        createdSince: TIME,
        createdBefore: TIME,
        updatedSince: TIME,
        updatedBefore: TIME,
        createdOrUpdatedSince: TIME,
        createdOrUpdatedBefore: TIME,
        programId: {
          anyOf: [
            { type: 'string', pattern: `^${LINE.described.pattern}$` },
            { ...NUMBER_AS_TEXT, type: 'integer' },
          ],
          nullable: true,
        },
        dates: { enum: [...EXPORT_DATES, '', null], default: 'EPOCH_MS' },
      },
    }),
  );

const TIME = {
  anyOf: [
    { type: 'integer', minimum: -8.64e15, maximum: 8.64e15 },
    { type: 'string', pattern: `^(?:-?\\d{1,15}|${ISO_TIME})?$` },
  ],
  nullable: true,
};

export class ExportRequest {
  @OneOf(EXPORT_TYPES)
  type: ExportType;

  @Optional(
    `be one of ${EXPORT_FORMATS.join(', ')}`,
    (value) => EXPORT_FORMATS.some((format) => format === value),
    { enum: [...EXPORT_FORMATS, ''], default: 'CSV' },
  )
  format?: ExportFormat;

  @OptionalText(LINE)
  name?: string;

  @OptionalText(LINE)
  requester?: string;

  @Params()
  params?: ExportParams;
}
