import type { Children } from '../frame/processes.ts';

/** Links of a batch that is completed in the response, and of one that becomes a job: the largest of each kind. */
export const SMALL_BATCH = 100;
export const LARGE_BATCH = 10_000;

/** Starts the stub server and resolves to its URL. */
export async function startStub(children: Children): Promise<string> {
  const stub = await children.start(new URL('./stub-server.ts', import.meta.url));
  return stub.ask<string>('url');
}

/** The link in the response to every create. */
const LINK = {
  id: '019347d2-7f00-7000-8000-000000000001',
  code: 'a2b3c4d',
  short_url: 'https://sho.rt/a2b3c4d',
  target_url: 'https://example.com/docs/start?from=bench',
  title: 'Getting started',
  redirect_type: 302,
  is_active: true,
  click_count: 0,
  tags: ['docs', 'bench'],
  created_at: '2026-11-01T12:00:00.000Z',
};

/** Fields that Dub's client requires in a link, and that may be null. */
const DUB_NULLS = [
  ...['externalId', 'tenantId', 'programId', 'partnerId', 'expiresAt', 'expiredUrl', 'disabledAt'],
  ...[
    'password',
    'title',
    'description',
    'image',
    'video',
    'ios',
    'android',
    'geo',
    'tags',
    'tagId',
  ],
  ...[
    'folderId',
    'comments',
    'utm_source',
    'utm_medium',
    'utm_campaign',
    'utm_term',
    'utm_content',
  ],
  ...['userId', 'lastClicked'],
];

const DUB_LINK = {
  ...Object.fromEntries(DUB_NULLS.map((field) => [field, null])),
  id: 'link_1',
  domain: 'dub.sh',
  key: 'a2b3c4d',
  url: 'https://example.com/docs/start?from=bench',
  shortLink: 'https://dub.sh/a2b3c4d',
  qrCode: 'https://api.dub.co/qr',
  workspaceId: 'ws_1',
  projectId: 'p_1',
  webhookIds: [],
  createdAt: '2026-11-01T12:00:00.000Z',
  updatedAt: '2026-11-01T12:00:00.000Z',
};

const COMPLETION = {
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1_793_534_400,
  model: 'bench',
  choices: [
    { index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'Getting started' } },
  ],
  usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 },
};

const MESSAGE = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'bench',
  content: [{ type: 'text', text: 'Getting started' }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: 1, output_tokens: 2 },
};

/** A response of the stub. */
export interface StubAnswer {
  status: number;
  body: Buffer;
}

const answer = (status: number, value: unknown): StubAnswer => ({
  status,
  body: Buffer.from(JSON.stringify(value)),
});

/** Responses to one create of each client, by path. They are about equally large. */
export const SINGLE_ANSWERS: Readonly<Record<string, StubAnswer>> = {
  '/api/v1/links': answer(201, LINK),
  '/links': answer(200, DUB_LINK),
  '/chat/completions': answer(200, COMPLETION),
  '/v1/messages': answer(200, MESSAGE),
};

/** The target URL of the link at this position of its batch. Every batch has the same links, so that the stub's response fits all. */
export function targetUrl(place: number): string {
  return `https://example.com/catalogue/item/${place}?from=bench`;
}

function results(count: number) {
  return Array.from({ length: count }, (_, place) => {
    const code = `c${String(place).padStart(6, '0')}`;
    return { target_url: targetUrl(place), code, short_url: `https://sho.rt/${code}` };
  });
}

/** The response of a batch that is completed at once. */
export function completedBatch(total: number): StubAnswer {
  return answer(200, { status: 'completed', total, results: results(total) });
}

/** The response of a batch that becomes a job. */
export function acceptedBatch(total: number, job: number): StubAnswer {
  const job_id = `019347d2-7f00-7000-8000-${String(job).padStart(12, '0')}`;
  return answer(202, { job_id, status: 'processing', total });
}

/** The job of {@link acceptedBatch}, which every poll finds completed. */
export function completedJob(total: number): StubAnswer {
  const id = '019347d2-7f00-7000-8000-000000000002';
  return answer(200, { id, status: 'completed', total, processed: total, results: results(total) });
}
