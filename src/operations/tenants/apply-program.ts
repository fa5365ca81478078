import type { Core } from '../../stores/core.js';
import { programsOf } from '../../domain/tenant/program-document.js';
import type { OpenTenant, ProgramDocument } from '../../domain/tenant/tenant.decider.js';
import { refused } from '../../domain/refusal.js';
import { timeNow } from '../../foundation/world.js';
import type { StaffMeta } from '../audit.js';
import { notDone, decided } from '../outcome.js';
import { parseProgram } from './program-schema.js';

/** The program of a text in JSON. @throws {NotDone} with one line for each error. */
export function programIn(text: string): ProgramDocument {
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch (error) {
    const reason = error instanceof Error ? error.message : 'unreadable';
    throw notDone(`not JSON: ${reason}`);
  }
  return programOf(content);
}

/** The checked program of a document. @throws {NotDone} with one line for each error. */
export function programOf(content: unknown): ProgramDocument {
  const program = parseProgram(content);
  if ('problems' in program && Array.isArray(program.problems))
    throw notDone(...(program.problems as readonly string[]));
  return program as ProgramDocument;
}

/**
 * Applies a program; rewards earned before keep their terms.
 * @param expected the version that the operator saw: another one now is refused; undefined: any.
 */
export async function applyProgram(
  { tenantCommands }: Pick<Core, 'tenantCommands'>,
  { scope: { tenant: alias }, actor }: StaffMeta,
  { program, expected }: { readonly program: ProgramDocument; readonly expected?: number },
) {
  const after = await tenantCommands
    .by(actor)
    .execute(alias, { type: 'ApplyProgram', program, now: timeNow() }, async (tenant) => {
      const version = versionOf(tenant, program.id);
      if (expected === undefined || version === expected) return undefined;
      return refused(
        'CHANGED_MEANWHILE',
        `program ${program.id} is at version ${version} by now: look at it first`,
      );
    });
  if ('refused' in after && after.refused === 'RECORD_TOO_LARGE') throw notDone(TOO_LARGE);
  return { id: program.id, version: versionOf(decided(after), program.id) };
}

const TOO_LARGE =
  'the program file is too large: a pool of codes is filled up by applying the program again with the next ones';

const versionOf = (tenant: OpenTenant, programId: string): number =>
  programsOf(tenant).find(({ id }) => id === programId)?.version ?? 0;
