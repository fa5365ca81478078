import {
  ASSISTANT,
  PROGRAM_FORM,
  type ProgramTexts,
} from '../../operations/tenants/program-form.js';
import { TEXTS } from '../texts.js';

/** The fields of the form for a program: one without `inputMode` takes any text. */
export const fieldGroups = (texts: ProgramTexts) =>
  PROGRAM_FORM.map(({ title, fields }) => ({
    title,
    fields: fields.map(({ name, label, options, isNumber = false }) => ({
      name,
      label,
      value: texts[name] ?? '',
      inputMode: isNumber ? 'numeric' : null,
      options: options?.map(([value, words]) => ({ value, words })) ?? null,
    })),
  }));

const LEGENDS = {
  friend: TEXTS.program.friendGets,
  referrer: TEXTS.program.referrerGets,
  when: TEXTS.program.referrerWhen,
} as const;

/** The questions of the assistant. */
export const questions = (choices: Readonly<Record<string, string>>) =>
  (['friend', 'referrer', 'when'] as const).map((name) => ({
    name,
    legend: LEGENDS[name],
    options: ASSISTANT[name].map(([value, words]) => ({
      value,
      words,
      isChosen: value === (choices[name] || ASSISTANT[name][0][0]),
    })),
  }));
