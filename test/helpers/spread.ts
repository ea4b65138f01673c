/**
 * A part of all combinations: rounds in which every place has an item that fits it, until every item has had a place.
 * The item that was used least comes first, and of those the one that fits fewest places.
 * @throws if no place fits an item, or no item fits a place
 */
export function spread<Item, Place>(
  items: readonly Item[],
  places: readonly Place[],
  fits: (item: Item, place: Place) => boolean = () => true,
): readonly ReadonlyMap<Place, Item>[] {
  const count = (item: Item) => places.filter((place) => fits(item, place)).length;
  const ordered = [...items].sort((a, b) => count(a) - count(b));
  if (ordered[0] !== undefined && count(ordered[0]) === 0)
    throw new Error(`no place fits ${JSON.stringify(ordered[0])}`);
  const uses = new Map(ordered.map((item) => [item, 0]));
  const rounds: ReadonlyMap<Place, Item>[] = [];
  while ([...uses.values()].includes(0)) {
    const round = new Map<Place, Item>();
    for (const place of places) {
      const item = findLeastUsed(
        uses,
        ordered.filter((candidate) => fits(candidate, place)),
      );
      if (item === undefined) throw new Error(`no item fits ${JSON.stringify(place)}`);
      uses.set(item, uses.get(item)! + 1);
      round.set(place, item);
    }
    rounds.push(round);
  }
  return rounds;
}

function findLeastUsed<Item>(uses: ReadonlyMap<Item, number>, items: readonly Item[]): Item | undefined {
  const least = Math.min(...items.map((item) => uses.get(item)!));
  return items.find((item) => uses.get(item) === least);
}
