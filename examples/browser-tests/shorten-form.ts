// The component that is tested. It knows nothing of tests: it sends its requests with the page's own fetch.
import { Shortlink, ShortlinkError } from '@shortlink/sdk';

export function shortenForm(options: { baseUrl: string; apiKey: string }): HTMLFormElement {
  const shortlink = new Shortlink(options);
  const form = document.createElement('form');
  form.innerHTML =
    '<label>URL <input name="url"></label><button>Shorten</button><output></output>';
  const output = form.querySelector('output');
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    const target_url = String(new FormData(form).get('url'));
    const text = await shortlink.links.create({ target_url }).then(
      (link) => link.short_url,
      (error: unknown) => (ShortlinkError.isInstance(error) ? error.message : 'Not now.'),
    );
    if (output !== null) output.textContent = text;
  });
  return form;
}
