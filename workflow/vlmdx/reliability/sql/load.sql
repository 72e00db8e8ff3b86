-- Items and score shards, as the contracts in vlmdx/schema/tables.py describe them.
-- To run these files by hand, in this order: load, (select,) answers, checks, cells, trajectories, sums, counts, position. First set
--   SET VARIABLE items = 'items.parquet';              SET VARIABLE scores = ['clean.parquet', 'noise.parquet', ...];
--   SET VARIABLE corruptions = [{'corruption': 'fog', 'family': 'weather'}, ...];
--   SET VARIABLE severities = [1, 2, 3, 4, 5];         SET VARIABLE model = 'my-model';
--   SET VARIABLE letter_mass_min = 0.01;               SET VARIABLE ece_bins = 15;
-- Paths are data, never pattern or partition: no hive columns, no union by name.

CREATE TABLE corruptions AS
SELECT c.corruption, c.family FROM (SELECT unnest(getvariable('corruptions')) AS c);

CREATE TABLE severities AS
SELECT unnest(getvariable('severities'))::TINYINT AS severity;

CREATE TABLE items AS
SELECT item_id, image_id, dataset, answer, len(options) AS k
FROM read_parquet(getvariable('items'), hive_partitioning = false, union_by_name = false)
ORDER BY item_id;

-- Sorted, so that no sum below depends on the order of the shards or of their rows.
CREATE TABLE scores AS
SELECT item_id, corruption, severity, option_index, letter, prob::DOUBLE AS p, logprob::DOUBLE AS logprob,
       letter_mass::DOUBLE AS letter_mass, is_gold, chosen, tied, reason, filename
FROM read_parquet(getvariable('scores'), filename = true, hive_partitioning = false, union_by_name = false)
ORDER BY item_id, corruption, severity, option_index;
