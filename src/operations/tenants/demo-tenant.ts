import type { Core } from '../../core/core.js';
import { DEFAULT_PROGRAM } from '../../domain/tenant/program-document.js';

const ALIAS = 'demo';

/**
 * Creates a tenant for trying things out on the first start. @returns the text to print once the
 * service listens; its keys are shown only there.
 */
export async function makeDemoTenant({
  tenants,
  tenantCommands,
}: Pick<Core, 'tenants' | 'tenantCommands'>): Promise<((url: string) => string) | undefined> {
  if (await tenants.read(ALIAS)) return undefined;
  const made = await tenantCommands.create({
    alias: ALIAS,
    programType: 'API_ONLY',
    openEndpoints: false,
    program: DEFAULT_PROGRAM,
  });
  if ('refused' in made) return undefined;
  return (url) => `
Tenant ${made.alias} was made. Its keys are shown this once:
  live API key         ${made.liveApiKey}
  test API key         ${made.testApiKey}
  live signing secret  ${made.liveSigningSecret}
  test signing secret  ${made.testSigningSecret}

Try it:
  curl -u :${made.testApiKey} ${url}/api/v1/${made.alias}/users

`;
}
