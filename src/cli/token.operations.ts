import { modeOf } from '../domain/scope.js';
import jwt from 'jsonwebtoken';
import * as z from 'zod';
import { duration, given, help, msOf, text } from '../operations/registry/members.js';
import { ledgerOperation, type Operation } from '../operations/registry/operation.js';
import { tenantNamed } from '../operations/tenants/tenant-operation.js';
import { CommandError } from './command-error.js';

/** Here and not with the other operations: its fields are checked as those of bodies are. */
export const operations: readonly Operation[] = [
  ledgerOperation({
    name: 'token sign',
    summary: 'a read token of a user; with --write, a write token with these fields',
    members: {
      account: help(text, 'the account'),
      user: help(text, 'the user of the token'),
      write: given(z.array(z.string()).default([]), {
        placeholder: 'field=value',
        help: 'a field in the token; values that begin with { or [, true and false are JSON',
      }),
      expires: help(
        duration.refine((given) => msOf(given) >= 1_000, 'must be a second or more').default('1h'),
        'how long the token is valid',
      ),
    },
    examples: ['token sign acme --account 42 --user 7 --expires 1h'],
    run: async ({ core, scope }, { account, user, write, expires }) => {
      // Loaded for this command only: the validation of bodies takes longer to load than the rest.
      const { fieldsOf, idOf } = await import('./token-fields.js');
      const claims = {
        user: {
          id: idOf('--user', user),
          accountId: idOf('--account', account),
          ...fieldsOf(write),
        },
      };
      const { tenant: alias, mode } = scope;
      const tenant = await tenantNamed(core, alias);
      const secrets = await core.tokenSecrets.of(tenant);
      const secret = secrets.find((candidate) => candidate.mode === modeOf(mode))?.secret;
      if (!secret)
        throw new CommandError(`the tenant ${alias} has no secret for ${modeOf(mode)} mode`);
      const expiresIn = Math.floor(msOf(expires) / 1_000);
      return { token: jwt.sign(claims, secret, { algorithm: 'HS256', expiresIn }) };
    },
    said: ({ token }) => token,
  }),
];
