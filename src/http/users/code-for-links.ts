import { ownMember } from '../../domain/own-member.js';
import { ApiError, badRequest } from '../edge/api-error.js';

/**
 * The code of the requested or default program. @throws PROGRAM_NOT_FOUND; BAD_REQUEST without one.
 */
export function codeForLinks(
  codes: Readonly<Record<string, string>>,
  programs: readonly string[],
  asked: string | undefined,
  defaultProgram: string,
): string {
  const program = asked ?? defaultProgram;
  if (!programs.includes(program)) throw new ApiError('PROGRAM_NOT_FOUND');
  const code = ownMember(codes, program);
  if (code === undefined)
    throw badRequest('programId names a program in which the user has no code yet');
  return code;
}
