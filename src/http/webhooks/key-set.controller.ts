import { Controller, Get, Res } from '@nestjs/common';
import { ApiOkResponse } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { sharedCall } from '../../foundation/single-flight.js';
import { SigningKeys } from '../../webhooks/signing/signing-keys.js';
import { Access } from '../edge/access.js';
import { KeySetResponse } from './key-set.response.js';

@Controller('.well-known')
export class KeySetController {
  /** Public, so concurrent requests share one read. */
  private readonly jwks = sharedCall(() => this.keys.jwks());

  constructor(private readonly keys: SigningKeys) {}
  @ApiOkResponse({ type: KeySetResponse })
  @Get('jwks.json')
  @Access('none', { listener: 'public' })
  async keySet(@Res({ passthrough: true }) reply: FastifyReply): Promise<KeySetResponse> {
    const keySet = await this.jwks();
    // A new key signs immediately: with a cached set, valid webhooks would fail.
    void reply.header('Cache-Control', 'no-cache');
    return keySet;
  }
}
