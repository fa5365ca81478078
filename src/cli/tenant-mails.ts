import type { Core } from '../stores/core.js';
import type { ChangeMailSettings } from '../domain/tenant/mail-settings.js';
import { isMailAddress, isMailDomain, MAIL_DOMAINS_MAX } from '../foundation/mail-address.js';
import { TEST_ADDRESSES_MAX } from '../mails/settings/test-addresses.js';
import { isMailType, MAIL_TYPES } from '../themes/theme-instance.js';
import { CommandError } from './command-error.js';

/** Options of mails of `tenant update`; `none` empties a list. */

interface MailOptions {
  readonly mail?: readonly string[];
  readonly mailTestTo?: readonly string[];
  readonly mailDomains?: readonly string[];
}

/** Undefined: none was given. @throws {CommandError} for a bad value. */
export function parseMailChanges({
  mail,
  mailTestTo,
  mailDomains,
}: MailOptions): MailOptions | undefined {
  const types = listOf('--mail', mail);
  const addresses = listOf('--mail-test-to', mailTestTo);
  const domains = listOf('--mail-domains', mailDomains);
  if (types === undefined && addresses === undefined && domains === undefined) return undefined;
  const unknown = types?.find((type) => !isMailType(type));
  if (unknown !== undefined)
    throw new CommandError(`--mail takes none or types of ${MAIL_TYPES.join(', ')}`);
  if (addresses?.some((address) => !isMailAddress(address)))
    throw new CommandError('--mail-test-to takes none or e-mail addresses');
  if ((addresses?.length ?? 0) > TEST_ADDRESSES_MAX)
    throw new CommandError(`--mail-test-to takes at most ${TEST_ADDRESSES_MAX} addresses`);
  if (domains?.some((domain) => !isMailDomain(domain)) || (domains?.length ?? 0) > MAIL_DOMAINS_MAX)
    throw new CommandError(
      `--mail-domains takes none or at most ${MAIL_DOMAINS_MAX} domains such as shop.example`,
    );
  return {
    ...(types && { mail: types }),
    ...(addresses && { mailTestTo: addresses }),
    ...(domains && { mailDomains: domains }),
  };
}

export async function mailCommand(
  { mailTestAddresses }: Pick<Core, 'mailTestAddresses'>,
  alias: string,
  { mail, mailTestTo, mailDomains }: MailOptions,
): Promise<ChangeMailSettings> {
  return {
    type: 'ChangeMailSettings',
    ...(mail && { types: mail }),
    ...(mailTestTo && { testTo: await mailTestAddresses.sealed(alias, mailTestTo) }),
    ...(mailDomains && { domains: mailDomains }),
    now: Date.now(),
  };
}

function listOf(
  option: string,
  values: readonly string[] | undefined,
): readonly string[] | undefined {
  if (!values?.includes('none')) return values;
  if (values.length > 1) throw new CommandError(`${option} takes none alone`);
  return [];
}
