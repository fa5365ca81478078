import { applyDecorators, Controller, Get, HttpCode, Post } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { OperatorRole } from '../config/operators.js';
import { Access } from '../http/edge/access.js';
import { consoleErrorSent } from './view/error-page.js';

type Roles = readonly OperatorRole[];

/** A controller of pages that belong to no tenant, below this path, with a `ConsoleCall`. */
export const ConsolePage = (...path: readonly string[]): ClassDecorator =>
  applyDecorators(ApiExcludeController(), Controller(['console', ...path].join('/')));

/** A controller of pages of a tenant, below this path, with a `TenantCall`. */
export const TenantPage = (...path: readonly string[]): ClassDecorator =>
  ConsolePage('tenants/:tenant/:mode', ...path);

/** @param streams the answer is a file that is sent while it is read. */
const access = (roles: Roles, streams?: true): MethodDecorator =>
  Access('console', { page: consoleErrorSent, roles, rawBody: true, ...(streams && { streams }) });

/** A page of the console for these roles; with a path, one below that of the controller. */
export const PageAt = (path: string, ...roles: Roles): MethodDecorator =>
  applyDecorators(Get(path), access(roles));
export const PageFor = (...roles: Roles): MethodDecorator => PageAt('', ...roles);

/** A page of the console for these roles, or a file of it. */
export const FilePageAt = (path: string, ...roles: Roles): MethodDecorator =>
  applyDecorators(Get(path), access(roles, true));
export const FilePageFor = (...roles: Roles): MethodDecorator => FilePageAt('', ...roles);

/** The form of a page for these roles. */
export const FormAt = (path: string, ...roles: Roles): MethodDecorator =>
  applyDecorators(Post(path), HttpCode(200), access(roles));
export const FormFor = (...roles: Roles): MethodDecorator => FormAt('', ...roles);
