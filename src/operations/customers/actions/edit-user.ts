import * as z from 'zod';
import type { CustomFieldValue, Profile } from '../../../domain/account/account.events.js';
import type { ProfileChanges } from '../../../domain/account/users/identify-user.js';
import type { Scope } from '../../../domain/scope.js';
import type { DomainEvent } from '../../../domain/events.js';
import { digestOf } from '../../../foundation/canonical-json.js';
import { isText } from '../../../foundation/identifier.js';
import {
  CUSTOM_FIELDS_MAX,
  isCountry,
  isEmail,
  isFieldName,
  isFieldValue,
  isSegment,
  SEGMENTS_MAX,
} from '../../../foundation/user-fields.js';
import type { Core } from '../../../stores/core.js';
import { isLocale } from '../../../themes/theme-locale.js';
import { changedMeanwhile } from '../../accounts/last-change.js';
import { recordedOperation } from '../../registry/operation.js';
import { actOnAccount, OF_USER, SUPPORT, userNow } from './account-action.js';

const TEXTS = ['firstName', 'lastName', 'email', 'locale', 'countryCode'] as const;

const CHANGES: ReadonlySet<string> = new Set(['UserIdentified', 'UserProfileChanged']);

/** What support may change of a user, as a form shows it. @throws {NotDone} USER_NOT_FOUND */
export async function editableUser(
  core: Pick<Core, 'names' | 'streams'>,
  scope: Scope,
  asked: { readonly account: string; readonly user: string },
) {
  return shownProfile((await userNow(core, scope, asked)).profile);
}

/** Empty texts: no value. A form that carries another version than that of now is refused. */
function shownProfile(profile: Profile) {
  const texts = Object.fromEntries(TEXTS.map((name) => [name, profile[name] ?? ''])) as Readonly<
    Record<(typeof TEXTS)[number], string>
  >;
  const customFields = Object.entries(profile.customFields).sort(([a], [b]) => (a < b ? -1 : 1));
  const shown = { ...texts, segments: profile.segments, customFields };
  return { ...shown, version: digestOf(shown) };
}

const textOf = (test: (value: string) => boolean, words: string) =>
  z
    .string()
    .transform((value) => value.trim())
    .refine((value) => value === '' || test(value), words);

/** The whole form: an empty text clears the field, a field that is left out is removed. */
const EDIT = {
  ...OF_USER,
  firstName: textOf(isText, 'must have at most 2048 characters'),
  lastName: textOf(isText, 'must have at most 2048 characters'),
  email: textOf(isEmail, 'must be an e-mail address, such as ann@example.com'),
  locale: textOf(isLocale, 'must be a locale, such as en or en_US'),
  countryCode: textOf(isCountry, 'must be the two capital letters of a country, such as DE'),
  segments: z
    .array(z.string().refine(isEditableSegment, 'takes 1 to 256 characters and no ~ in front'))
    .max(SEGMENTS_MAX),
  customFields: z
    .array(
      z.tuple([
        z
          .string()
          .refine(isFieldName, 'must have names of 1 to 64 letters, digits and underscores'),
        z.string().refine(isFieldValue, 'must have values of at most 1024 characters'),
      ]),
    )
    .max(CUSTOM_FIELDS_MAX),
  version: z.string(),
};

function isEditableSegment(segment: string): boolean {
  return isSegment(segment) && segment.trim() === segment && !segment.startsWith('~');
}

type Edited = z.output<z.ZodObject<typeof EDIT>>;

/**
 * Saves a user's fields. @throws {NotDone} CHANGED_MEANWHILE when they are not those that the form
 * was made from.
 */
export const editUser = recordedOperation({
  name: 'user edit',
  summary: "changes a user's fields",
  members: EDIT,
  ...SUPPORT,
  record: async (context, request) => {
    const { core, scope } = context;
    const { tenant: _, mode: __, version, ...asked } = request;
    const { stream, person, profile } = await userNow(core, scope, asked);
    const changes = changesOf(profile, asked);
    const check = async () => {
      if (Object.keys(changes).length === 0 || shownProfile(profile).version === version) return;
      const isOne = (event: DomainEvent) => 'person' in event && event.person === person;
      throw await changedMeanwhile(core, { stream, types: CHANGES, isOne }, 'this user');
    };
    return actOnAccount(context, {
      asked: { ...asked, version },
      check,
      command: {
        type: 'UpsertUser',
        userId: asked.user,
        changes,
        referralCode: undefined,
        referralCodes: {},
        paymentProviderId: undefined,
        codes: [],
      },
      parameters: { fields: Object.keys(changes).join(',') || undefined },
    });
  },
});

function changesOf(before: Profile, edited: Omit<Edited, 'version'>): ProfileChanges {
  const texts = TEXTS.filter((name) => edited[name] !== (before[name] ?? ''));
  const segments = [...new Set(edited.segments)];
  const fields = changedFields(before.customFields, edited.customFields);
  return {
    ...Object.fromEntries(texts.map((name) => [name, edited[name] === '' ? null : edited[name]])),
    ...(segments.join('\n') === before.segments.join('\n')
      ? {}
      : { segments: ['~*', ...segments] }),
    ...(fields.length === 0 ? {} : { customFields: Object.fromEntries(fields) }),
  };
}

/** A text of a form stands for a number or a truth value where the field has one. */
function changedFields(
  before: Profile['customFields'],
  edited: Edited['customFields'],
): [string, CustomFieldValue | null][] {
  const stored = new Map(Object.entries(before));
  const left = new Map(edited);
  const removed = [...stored.keys()].filter((name) => !left.has(name));
  const written = [...left].flatMap(([name, typed]): [string, CustomFieldValue][] => {
    const value = stored.get(name);
    return String(value) === typed && value !== undefined ? [] : [[name, likeStored(value, typed)]];
  });
  return [...removed.map((name): [string, null] => [name, null]), ...written];
}

function likeStored(before: CustomFieldValue | undefined, typed: string): CustomFieldValue {
  const isNumber = typed.trim() !== '' && Number.isFinite(Number(typed));
  if (typeof before === 'number' && isNumber) return Number(typed);
  if (typeof before === 'boolean' && /^(true|false)$/.test(typed)) return typed === 'true';
  return typed;
}
