/** Sends one create and reads the whole response. */
export type CreateOne = () => Promise<unknown>;

const API_KEY = 'bench-key-0123456789';

const BODY = {
  target_url: 'https://example.com/docs/start?from=bench',
  title: 'Getting started',
  tags: ['docs', 'bench'],
};

/** About as many bytes as {@link BODY}. */
const PROMPT = 'Shorten https://example.com/docs/start?from=bench, titled Getting started';

/**
 * The clients that are compared, each used as its documentation shows, and without retries where they can be switched off, since
 * nothing here fails. `fetch` and `ky` are used in the simplest way that sends the same request and reads the response.
 */
export const CLIENTS = {
  fetch: async (url: string): Promise<CreateOne> => {
    const headers = { 'X-Api-Key': API_KEY, 'Content-Type': 'application/json' };
    return async () => {
      const body = JSON.stringify(BODY);
      const response = await fetch(`${url}/api/v1/links`, { method: 'POST', headers, body });
      return response.json();
    };
  },
  ky: async (url: string): Promise<CreateOne> => {
    const { default: ky } = await import('ky');
    const headers = { 'X-Api-Key': API_KEY };
    return () => ky.post(`${url}/api/v1/links`, { json: BODY, headers }).json();
  },
  '@shortlink/sdk': async (url: string): Promise<CreateOne> => {
    const { Shortlink } = await import('@shortlink/sdk');
    const shortlink = new Shortlink({ apiKey: API_KEY, baseUrl: url });
    return () => shortlink.links.create(BODY);
  },
  dub: async (url: string): Promise<CreateOne> => {
    const { Dub } = await import('dub');
    const dub = new Dub({ token: API_KEY, serverURL: url });
    const { target_url, title } = BODY;
    return () => dub.links.create({ url: target_url, title, tagNames: BODY.tags });
  },
  openai: async (url: string): Promise<CreateOne> => {
    const { default: OpenAI } = await import('openai');
    const openai = new OpenAI({ apiKey: API_KEY, baseURL: url });
    return () =>
      openai.chat.completions.create({
        model: 'bench',
        messages: [{ role: 'user', content: PROMPT }],
      });
  },
  '@anthropic-ai/sdk': async (url: string): Promise<CreateOne> => {
    const { default: Anthropic } = await import('@anthropic-ai/sdk');
    const anthropic = new Anthropic({ apiKey: API_KEY, baseURL: url });
    return () =>
      anthropic.messages.create({
        model: 'bench',
        max_tokens: 100,
        messages: [{ role: 'user', content: PROMPT }],
      });
  },
} as const satisfies Record<string, (url: string) => Promise<CreateOne>>;

export type ClientName = keyof typeof CLIENTS;

export const CLIENT_NAMES = Object.keys(CLIENTS).filter((name) => isClientName(name));

export function isClientName(name: string): name is ClientName {
  return name in CLIENTS;
}
