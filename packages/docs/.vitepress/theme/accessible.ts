/** The home page and the page for a wrong address have no `main` of their own. */
export function markMain(): void {
  const content = document.getElementById('VPContent');
  if (content?.querySelector('main')) content.removeAttribute('role');
  else content?.setAttribute('role', 'main');
}

/** The button of the search is called what it shows: its text, or `Search` where there is room for an icon only. */
export function nameSearch(): void {
  const wide = matchMedia('(min-width: 768px)');
  const name = () => {
    if (wide.matches) searchButton()?.removeAttribute('aria-label');
    else searchButton()?.setAttribute('aria-label', 'Search');
  };
  wide.addEventListener('change', name);
  name();
}

/**
 * Results of the search are links. The theme calls each an option of a list box in a button, which may hold no link, and names it
 * otherwise than it looks; and when the box is closed, it lets the focus fall to the page's beginning.
 */
export function watchSearch(): void {
  let isOpen = false;
  new MutationObserver(() => {
    const box = document.querySelector('.VPLocalSearchBox');
    if (box !== null && box.role !== 'dialog')
      Object.assign(box, { role: 'dialog', ariaLabel: 'Search' });
    for (const name of ['aria-expanded', 'aria-haspopup', 'aria-labelledby', 'aria-owns']) {
      box?.removeAttribute(name);
    }
    for (const element of box?.querySelectorAll('.results, .results *') ?? []) {
      for (const name of ['role', 'aria-selected', 'aria-label']) element.removeAttribute(name);
    }
    // A key is shown by a sign alone, and only a picture may have a name.
    for (const key of box?.querySelectorAll('kbd[aria-label]') ?? []) key.role = 'img';
    const wasOpen = isOpen;
    isOpen = box !== null;
    if (wasOpen && !isOpen && document.activeElement === document.body) searchButton()?.focus();
  }).observe(document.body, { childList: true, subtree: true, attributeFilter: ['aria-selected'] });
}

function searchButton(): HTMLElement | null {
  return document.querySelector('.VPNavBarSearch button');
}
