-- One row per (model, scope, level) with a column per metric, from the summaries of all models.
-- To run by hand: SET VARIABLE summaries = ['a.parquet', ...]; SET VARIABLE positions = ['a.parquet', ...];

CREATE TABLE summary AS
SELECT * FROM read_parquet(getvariable('summaries'), hive_partitioning = false, union_by_name = false);

-- Preference for a letter: total variation distance between the letters chosen and the letters that are right.
CREATE TABLE positions AS
SELECT *, sum(abs(chosen - gold)) OVER (PARTITION BY model) / 2 AS position_bias
FROM read_parquet(getvariable('positions'), hive_partitioning = false, union_by_name = false)
ORDER BY model, option_index;

CREATE TABLE figures AS
SELECT model, scope, level, metric, value FROM summary
UNION ALL SELECT model, scope, level, 'ras_low', low FROM summary WHERE metric = 'ras'
UNION ALL SELECT model, scope, level, 'ras_high', high FROM summary WHERE metric = 'ras'
UNION ALL SELECT DISTINCT model, 'all', 'all', 'position_bias', position_bias FROM positions;

CREATE TABLE wide AS
PIVOT figures ON metric USING first(value) GROUP BY model, scope, level ORDER BY model, scope, level;
