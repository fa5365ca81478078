import * as z from 'zod';
import { MODES } from '../../domain/scope.js';
import { DURATION_PATTERN, durationMs } from '../../foundation/duration.js';
import { ISO_TIME } from '../../foundation/instant.js';
import { ALIAS } from '../../tenants/tenant-directory.js';

/** Members of requests that several operations have. */

export interface ChannelMember {
  /** On the command line the member is the path of a file with this content. */
  readonly file?: 'text' | 'json';
  /** The name of the option, where it is not that of the member. */
  readonly option?: string;
  /** The placeholder in the help: `url` for `--endpoint <url>`. */
  readonly placeholder?: string;
  /** A list is written as one word, with commas. */
  readonly hasCommas?: boolean;
  /** The only channel that has the member. */
  readonly only?: 'cli' | 'http' | 'console';
  /** Help of the command line, where it says more or less than the API reference. */
  readonly help?: string;
}

/** How a member is given in each channel; not part of its JSON Schema. */
export const channels = z.registry<ChannelMember>();

/** A copy of the member that is given in another way in one of the channels. */
export const given = <T extends z.ZodType>(member: T, how: ChannelMember): T => {
  const copy = member.clone();
  channels.add(copy, { ...channels.get(member), ...how });
  return copy;
};

/** A member of the command line, with its help. */
export const help = <T extends z.ZodType>(member: T, text: string): T =>
  given(member, { help: text });

export const tenant = help(
  z.string().regex(ALIAS, 'must be an alias: 1 to 64 of a to z, 0 to 9, _ and -'),
  'the alias of the tenant',
);

export const mode = help(z.enum(MODES).default('live'), 'live or test');

/** Of an operation that works in test mode only. */
export const testMode = help(
  z.enum(['test'], 'must be test: it works in test mode only').default('test'),
  'test',
);

/** Of so many characters: a pair of surrogates is one. */
export const textUpTo = (max: number) =>
  z
    .string('must be a text')
    .min(1, 'must not be empty')
    .refine((value) => [...value].length <= max, `takes at most ${max} characters`)
    .meta({ maxLength: max });
export const text = textUpTo(1_000);
/** A text by an operator, about a change. */
export const reason = text
  .refine((value) => value.trim() !== '', 'must not be empty')
  .meta({ pattern: '\\S' });

/** Checked by the operation, which says what is wrong with it. */
export const time = text.meta({ pattern: `^${ISO_TIME}$` });
export const day = text.meta({ format: 'date' });
export const month = text.meta({ pattern: '^[0-9]{4}-(?:0[1-9]|1[0-2])$' });

export const wholeNumber = (max: number) =>
  z.int('must be a whole number').min(1, 'must be at least 1').max(max, `must be at most ${max}`);

/** The most entries of a list, and the usual number. */
export const limit = (usual: number) =>
  help(wholeNumber(10_000).default(usual), 'entries to show, up to 10000');

/** Of an operation that writes its answer itself. */
export const json = given(z.boolean().optional(), { only: 'cli', help: 'as JSON' });

/** `30m`, `24h`, `7d` or `0`. */
export const duration = z
  .string()
  .refine((value) => durationMs(value) !== undefined, 'must be a duration such as 30m or 24h')
  .meta({ pattern: DURATION_PATTERN, maxLength: 10 });

/** As `duration`, of any length. */
export const anyDuration = z
  .string()
  .refine((value) => durationMs(value, Infinity) !== undefined, 'must be a duration such as 30d')
  .meta({ pattern: '^(?:0|[0-9]{1,9}[smhd])$' });

/** Milliseconds of a checked duration. */
export const msOf = (checked: string): number => durationMs(checked) ?? 0;
