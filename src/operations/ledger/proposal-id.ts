import type { Scope } from '../../domain/scope.js';

/** Where a proposal is recorded. */
export interface ProposalName {
  readonly scope: Scope;
  /** `YYYY-MM-DD`, in UTC. */
  readonly day: string;
  /** 32 hex digits. */
  readonly proposalId: string;
}

/** `acme.live.20261123.9f…`: names tenant and mode, so that an approval needs the id alone. */
export const proposalIdOf = ({ scope, day, proposalId }: ProposalName): string =>
  [scope.tenant, scope.mode, day.replaceAll('-', ''), proposalId].join('.');

const FORM = /^([a-z0-9_-]{1,64})\.(live|test)\.(\d{4})(\d{2})(\d{2})\.([0-9a-f]{32})$/;

/** Undefined: no id of a proposal. */
export function proposalNameOf(id: string): ProposalName | undefined {
  const [, tenant = '', mode, year = '', month = '', date = '', proposalId = ''] =
    FORM.exec(id) ?? [];
  if (mode !== 'live' && mode !== 'test') return undefined;
  return { scope: { tenant, mode }, day: `${year}-${month}-${date}`, proposalId };
}
