import { apiPaths, componentParameters, openPaths } from './api-paths.ts';
import {
  componentHeaders,
  componentResponses,
  componentSchemas,
  type OpenApiObject,
} from './components.ts';
import { securitySchemes, servicePaths } from './service-paths.ts';

const DESCRIPTION = `Creates short links, one at a time or in batches of up to 10,000.

Every path that has \`GET\` has \`HEAD\` too; a wrong method on a known path is 405 with \`Allow\`. Bodies of errors
have \`error\`, for people, and \`code\`, for programs.`;

/**
 * The API description (OpenAPI 3.1) that `GET /openapi.json` sends.
 *
 * @param publicUrl where the service is reached
 */
export function openApiDocument(publicUrl: string): OpenApiObject {
  return {
    openapi: '3.1.1',
    info: {
      title: 'Shortlink',
      version: '1.0.0',
      summary: 'A short-link service',
      description: DESCRIPTION,
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: publicUrl }],
    security: [{ apiKey: [] }],
    tags: [
      { name: 'links', description: 'Creating links.' },
      { name: 'jobs', description: 'Batches that run in the background.' },
      { name: 'usage', description: "Use of the plan's limits." },
      { name: 'redirects', description: 'Following links.' },
      { name: 'service', description: 'The state of the service.' },
    ],
    paths: { ...apiPaths, ...servicePaths, ...openPaths },
    components: {
      schemas: componentSchemas(),
      headers: componentHeaders,
      parameters: componentParameters,
      responses: componentResponses,
      securitySchemes,
    },
  };
}
