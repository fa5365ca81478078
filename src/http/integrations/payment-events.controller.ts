import { Controller, HttpCode, Post } from '@nestjs/common';
import { ApiBody, ApiHeader, ApiOkResponse } from '@nestjs/swagger';
import { TenantDirectory } from '../../tenants/tenant-directory.js';
import { PaymentEvents, type ReceivedEvent } from '../../payments/incoming/payment-events.js';
import { Access, TENANT_PARAMETER } from '../edge/access.js';
import { ApiError, badRequest, unavailable } from '../edge/api-error.js';
import { Call } from '../credentials/call.js';
import { countedAddress } from '../edge/client-address.js';
import { FailedCredentials } from '../limits/call-limit.js';
import { Fails } from '../shapes/openapi.js';
import { ReceivedResponse } from './payment-events.response.js';

const SIGNATURE = 'stripe-signature';
/** The provider retries for some days. */
const FULL_S = 3_600;
@Controller(`integrations/stripe/:${TENANT_PARAMETER}`)
export class PaymentEventsController {
  constructor(
    private readonly events: PaymentEvents,
    private readonly tenants: TenantDirectory,
    private readonly failures: FailedCredentials,
  ) {}

  @ApiHeader({ name: 'Stripe-Signature', required: false })
  @ApiBody({ required: false, schema: { type: 'object' } })
  @ApiOkResponse({ type: ReceivedResponse })
  @Post()
  @HttpCode(200)
  @Access('tenant', { rawBody: true })
  @Fails('NOT_FOUND', 'RATE_LIMITED')
  async receive(@Call() call: Call): Promise<ReceivedResponse> {
    const received = await this.received(call);
    this.events.answered(received);
    switch (received) {
      case 'recorded':
      case 'ignored':
      case 'repeated':
        return { received: true };
      case 'not-connected':
        // Costs a read of the tenant, so it counts like a wrong signature.
        throw (
          this.failures.count(countedAddress(call.clientAddress)) ??
          new ApiError('NOT_FOUND', { message: 'No payment provider is connected' })
        );
      case 'unavailable':
        throw unavailable();
      case 'full':
        throw unavailable(FULL_S);
      case 'not-signed':
        // Valid calls are not limited: an address of the provider serves many tenants.
        throw (
          this.failures.count(countedAddress(call.clientAddress)) ??
          badRequest('Stripe-Signature is missing, wrong or older than 300 s')
        );
      case 'no-event':
        throw badRequest('the body is no JSON object');
      case 'other-mode':
        throw badRequest('livemode is not that of the webhook secret');
    }
  }

  private async received({ tenant: { alias }, body, headers }: Call): Promise<ReceivedEvent> {
    const signature = headers[SIGNATURE];
    const bytes = Buffer.isBuffer(body) ? body : Buffer.alloc(0);
    const check = async (
      tenant: Awaited<ReturnType<TenantDirectory['find']>>,
    ): Promise<ReceivedEvent> =>
      tenant === undefined
        ? 'not-connected'
        : this.events.receive(tenant, bytes, typeof signature === 'string' ? signature : undefined);
    const received = await check(await this.tenants.find(alias));
    if (received !== 'not-connected' && received !== 'not-signed') return received;
    // The cached tenant may lack a new connection or secret.
    const newest = await this.tenants.read(alias);
    return newest === undefined ? received : check(newest);
  }
}
