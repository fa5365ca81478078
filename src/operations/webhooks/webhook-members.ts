import { loopbackProblem } from '../../webhooks/sending/webhook-forwarder.js';
import { given, textUpTo } from '../registry/members.js';

/** Members of requests about endpoints. */

export const url = textUpTo(2_000);
export const endpoint = given(url, { placeholder: 'url', help: 'its URL' });
export const endpointUrl = given(endpoint, { option: 'endpoint' });

const loopback = url.refine((to) => loopbackProblem(to) === undefined, {
  error: ({ input }) => loopbackProblem(String(input)) ?? '',
});
export const forwardTo = given(loopback.optional(), {
  placeholder: 'url',
  help: 'a receiver on this machine',
});
