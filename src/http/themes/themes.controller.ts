import { Body, Controller, Delete, Get, Header, HttpCode, Param, Patch, Put } from '@nestjs/common';
import { ApiBody, ApiNoContentResponse, ApiOkResponse } from '@nestjs/swagger';
import type { CommandMeta } from '../../event-log/envelope.js';
import { ThemeChanges, type ThemeOutcome } from '../../themes/theme-changes.js';
import { THEME_DOCUMENT, THEME_SCHEMA, THEME_VALUES } from '../../themes/theme-schema.js';
import { Themes } from '../../themes/themes.js';
import { Access, TENANT_PATH } from '../edge/access.js';
import { Call } from '../credentials/call.js';
import { Fails, THEME_PARTS } from '../shapes/openapi.js';
import { CommandGateway } from '../writing/command-gateway.js';
import { localeIn } from './locale-in.js';
import { themeRefused } from './theme-refused.js';

/** Members that the schema does not define are kept. */
const CHANGE = {
  type: 'object',
  additionalProperties: true,
  allOf: [{ $ref: `${THEME_PARTS}/change` }],
  properties: Object.fromEntries(Object.keys(THEME_SCHEMA.properties).map((name) => [name, {}])),
};
const THEME = { ...THEME_VALUES, required: [...THEME_SCHEMA.required] };
const SCHEMA = {
  type: 'object',
  properties: Object.fromEntries(Object.keys(THEME_SCHEMA).map((name) => [name, {}])),
} as const;
/** Paths of the default and of a locale. */
const INSTANCE = ['theme/variables/instance', 'theme/:locale/variables/instance'];

type Accepted = Exclude<ThemeOutcome, { readonly refused: unknown }>;
@Controller(TENANT_PATH)
export class ThemesController {
  constructor(
    private readonly gateway: CommandGateway,
    private readonly themes: Themes,
    private readonly changes: ThemeChanges,
  ) {}

  @Get('theme/variables/schema')
  @Access('key')
  @Header('Content-Type', 'application/schema+json; charset=utf-8')
  @ApiOkResponse({ content: { 'application/schema+json': { schema: SCHEMA } } })
  schema() {
    return THEME_SCHEMA;
  }

  @Get(INSTANCE)
  @Access('key')
  @ApiOkResponse({ schema: THEME })
  async instance(@Call() call: Call, @Param('locale') asked?: string) {
    const locale = localeIn(asked);
    await this.gateway.readable(call, []);
    return this.themes.shown(call.scope, locale);
  }

  @Put(INSTANCE)
  @HttpCode(204)
  @Access('key')
  @ApiBody({ schema: THEME_DOCUMENT })
  @ApiNoContentResponse({ description: 'They are published' })
  @Fails('VALIDATION_FAILED')
  replace(@Call() call: Call, @Body() body: unknown, @Param('locale') asked?: string) {
    const locale = localeIn(asked);
    return this.write(call, 204, async (meta) => {
      const put = accepted(await this.changes.put(meta, locale, body));
      return { ...put, body: undefined };
    });
  }

  @Patch(INSTANCE)
  @HttpCode(200)
  @Access('key')
  @ApiBody({ schema: CHANGE })
  @ApiOkResponse({ schema: THEME, description: 'The variables after the change' })
  @Fails('VALIDATION_FAILED')
  change(@Call() call: Call, @Body() body: unknown, @Param('locale') asked?: string) {
    const locale = localeIn(asked);
    return this.write(call, 200, async (meta) => {
      const patched = accepted(await this.changes.patch(meta, locale, body));
      return { ...patched, body: await this.themes.shown(call.scope, locale) };
    });
  }

  @Delete('theme/:locale/variables/instance')
  @HttpCode(200)
  @Access('key')
  @ApiOkResponse({ schema: THEME_VALUES, description: 'The values that were removed' })
  @Fails('THEME_NOT_FOUND')
  remove(@Call() call: Call, @Param('locale') asked: string) {
    const locale = localeIn(asked);
    return this.write(call, 200, async (meta) => {
      const removed = accepted(await this.changes.remove(meta, locale));
      return { ...removed, body: removed.before };
    });
  }

  private write(
    call: Call,
    status: number,
    change: (meta: CommandMeta) => Promise<Accepted & { readonly body: unknown }>,
  ) {
    return this.gateway.answer(call, async (meta) => {
      const { body, position, replayed } = await change(meta);
      return { status, body, position, replayed };
    });
  }
}

/** @throws {ApiError} for a refusal. */
function accepted(outcome: ThemeOutcome): Accepted {
  if (!('refused' in outcome)) return outcome;
  throw themeRefused(outcome);
}
