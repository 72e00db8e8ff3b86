-- Only where a benchmark was selected from a larger pool: keep its items. SET VARIABLE selection = 'bench.parquet';

CREATE TABLE selected AS
SELECT item_id FROM read_parquet(getvariable('selection'), hive_partitioning = false, union_by_name = false);

DELETE FROM items WHERE item_id NOT IN (SELECT item_id FROM selected);
